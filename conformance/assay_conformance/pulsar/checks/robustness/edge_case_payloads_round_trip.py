from __future__ import annotations

from collections.abc import Iterator

from assay_conformance.model.direction import Direction
from assay_conformance.model.event import Frame
from assay_conformance.pulsar.checks.robustness._round_trip import Taken, changed, is_altered, taken
from assay_conformance.pulsar.timeline import (
    Exercised,
    IncomingMessage,
    Says,
    Timeline,
    check,
    each,
    incoming_messages,
    not_delivered,
)
from assay_conformance.pulsar.timeline.incoming import content


@check("robustness.edge-case-payloads-round-trip")
def edge_case_payloads_round_trip(timeline: Timeline) -> Says:
    """robustness.edge-case-payloads-round-trip: empty and one-byte payloads, and null values, are received as they were
    sent.

    Content is compared with what is stored. Chunked messages are judged by the chunking checks.
    """
    yield from each(taken(timeline), _judge_the_same)
    yield from each(incoming_messages(timeline, _smallest(timeline)), _judge_delivered, timeline)


def _smallest(timeline: Timeline) -> Iterator[Frame]:
    """Yield MESSAGEs with a message of a byte at most."""
    for frame in timeline.events.frames("MESSAGE"):
        came = frame.dir is Direction.TO_CLIENT and frame.to_receiver and not is_altered(frame)
        if came and any(member.size <= 1 for member in frame.members):
            yield frame


def _judge_the_same(one: Taken) -> Says:
    message, member = one.message, one.member
    if message.digest != member.digest or message.size != member.size:
        yield changed(one, content(message), content(member))
    elif member.size <= 1:
        yield Exercised(message)


def _judge_delivered(timeline: Timeline, incoming: IncomingMessage) -> Says:
    yield from not_delivered(timeline, incoming, "an empty message or one of a single byte")
