from __future__ import annotations

from collections.abc import Iterator

from assay_conformance.checks.consumption import from_client
from assay_conformance.model.event import FORGED, Frame
from assay_conformance.pulsar.timeline import Exercised, Says, Timeline, breach, check, ms


def _sends(timeline: Timeline) -> Iterator[Frame]:
    for frame in timeline.events.frames("SEND"):
        if frame.meta is not None and from_client(frame) and frame.fate not in FORGED:
            yield frame


@check("batching.send-counts-messages", of=_sends)
def send_counts_messages(timeline: Timeline, send: Frame) -> Says:
    """batching.send-counts-messages: a SEND says how many messages it carries, one where it says nothing, and carries
    at least one."""
    batch = None if send.meta is None else send.meta.batch
    said, held = (1 if number is None else number for number in (send.num_messages, batch))
    if held < 1:
        yield breach(
            "no-message",
            f"the SEND of producer id {send.producer_id} at {ms(send.t_ns)} carries a batch of {held} messages; "
            "expected at least one",
            send,
        )
    elif said != held:
        yield breach(
            "other-number",
            f"the SEND of producer id {send.producer_id} at {ms(send.t_ns)} carries {held} messages; expected that "
            f"number as its num_messages, which is {said}",
            send,
        )
    else:
        yield Exercised(send)
