"""Acknowledgments that a client holds for its group interval, while their message is redelivered."""

from __future__ import annotations

from dataclasses import dataclass

from assay_conformance.checks.consumption import of_batch
from assay_conformance.model.event import Frame, Received
from assay_conformance.pulsar.timeline import Call, Says, Timeline, breach, ms


@dataclass(slots=True, eq=False)
class HeldAck:
    """The ack of one message. `stale`: earlier copies of the message that the application may still get; `taken`: the
    client said that it took the call; `again`: its message came once more; `delivered`: the application got that;
    `certain`: the client had to drop it."""

    call: Call
    stale: int = 0
    taken: bool = False
    again: Frame | None = None
    delivered: Received | None = None
    certain: bool = False

    @property
    def what(self) -> str:
        """What the call was to acknowledge."""
        id = self.call.message.message_id
        if of_batch(id):
            return f"message {id.batch_index} of the batch {self.call.entry}"
        return f"all up to {self.call.entry}" if self.call.cumulative else str(self.call.entry)


def judge_delivered_again(timeline: Timeline, held: HeldAck) -> Says:
    """Judge a message that had to be dropped, and was delivered."""
    call, again, delivered = held.call, held.again, held.delivered
    if again is None or delivered is None:
        return
    timeline.bounds.check_fair("crossing", again.t_ns, delivered.t_ns, what="whether an ACK and a message crossed")
    yield breach(
        "handed-over-again",
        f"consumer {call.consumer.handle} was asked at {ms(call.called_ns)} to acknowledge {held.what}; "
        f"{again.ids[0].name} was redelivered at {ms(again.t_ns)}; expected the message to be dropped; it was "
        f"delivered at {ms(delivered.t_ns)}",
        *(call.invoke, again, delivered),
    )
