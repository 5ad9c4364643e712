"""A seek into a batch sends an ack_set with the messages to be delivered: those from its target on."""

from __future__ import annotations

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.consumption import bit_of
from assay_conformance.model.event import Frame, MessageId
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.seek._seeking import SeekCheck, target_of


class IntoBatchCarriesAckSet(SeekCheck):
    """The SEEK of a call that named a message inside a batch, once the wire shows the size of the batch."""

    requirement = RequirementId("seek.into-batch-carries-ack-set")

    @on(Frame, "SEEK")
    def seek_sent(self, event: Frame) -> None:
        super().seek_sent(event)
        session = self.tracker.consumer_of(event)
        seek = self.current.get(session.consumer.handle) if session is not None and session.consumer else None
        named = seek.invoke.args.get("message_id") if seek is not None else None
        if seek is None or named is None or seek.command is not event or seek.beside:
            return
        id = MessageId(*named)
        size = self._size(seek.consumer.topics[0], id)
        if id.batch_index < 0 or size < 2:
            return
        words = event.ack_sets[0] if event.ack_sets else ()
        if all(bit_of(words, index) is (index >= id.batch_index) for index in range(size)):
            self.exercise(event)
            return
        self.breach(
            "wrong-bits",
            f"consumer {seek.consumer.handle} sought {target_of(seek.invoke)}, in a batch of {size}; expected an "
            f"ack_set with the bits from {id.batch_index} on; its SEEK at {ms(event.t_ns)} has "
            + ("none" if not words else f"the ack_set {list(words)}"),
            seek.invoke,
            event,
        )

    def _size(self, topic: str, id: MessageId) -> int:
        """Return the size of the batch from the topic, since not every client gives it in its message ids."""
        stored = self.tracker.stored.get(topic, [])
        return next((entry.meta.messages for entry in stored if entry.id.position == id.position), id.batch_size)
