from __future__ import annotations

from assay_conformance.model.event import Frame
from assay_conformance.pulsar.timeline import CUMULATIVE, Exercised, Says, Timeline, breach, check, ms


def _cumulative(timeline: Timeline) -> list[Frame]:
    return [ack for ack in timeline.events.frames("ACK") if ack.ack_type == CUMULATIVE and ack.at_client]


@check("ack.cumulative-has-one-message-id", of=_cumulative)
def cumulative_has_one_message_id(_timeline: Timeline, ack: Frame) -> Says:
    """ack.cumulative-has-one-message-id: a cumulative ACK names one message id. A broker ignores one with several ids,
    and acknowledges none of them."""
    if len(ack.ids) == 1:
        yield Exercised(ack)
    else:
        yield breach(
            "several-ids",
            f"connection {ack.conn}: the cumulative ACK of consumer {ack.consumer_id} at {ms(ack.t_ns)} names "
            f"{len(ack.ids)} ids; expected one, the last that is acknowledged",
            ack,
        )
