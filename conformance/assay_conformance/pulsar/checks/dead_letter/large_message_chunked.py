"""dead-letter.large-message-chunked"""

from __future__ import annotations

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.consumption import is_torn, late
from assay_conformance.checks.tracker import Call, Entry
from assay_conformance.model.event import Completion, Frame, Received
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.dead_letter._dead_lettering import Buried


class LargeMessageChunked(Buried):
    """One that is refused and does not come again, as when only some of its chunks do, never gets there. Where a fault
    took chunks on their way, or the permits for them, that is no wonder, nor where its consumer is not subscribed."""

    requirement = RequirementId("dead-letter.large-message-chunked")
    large = True

    def start(self) -> None:
        super().start()
        self._torn: set[int] = set()
        """Consumers to whom something did not come as it was sent, or whose permits did not get there."""
        self._refused: dict[Entry, tuple[Call, int]] = {}
        """Original -> the refusal below its maximum, and when it should have been asked for."""

    def called(self, call: Call) -> None:
        super().called(call)
        most, stored = self._most(call.consumer), self.stored.get(call.entry)
        chunked = stored is not None and stored.meta.chunk_id is not None
        if call.invoke.verb != "nack" or not chunked or self._is_settled(call.entry):
            return
        if most and call.message.redelivery_count < most:
            due_ns = call.called_ns + self._delay_ns(call.consumer)
            self._refused[call.entry] = (call, due_ns)

    def _is_settled(self, entry: Entry) -> bool:
        """Acknowledged, or it is a letter, or becomes one: an earlier delivery that is refused brings nothing back."""
        return entry in self.asked_to_ack | self.settled or self.origin_of(entry) in self.errands

    @on(Received)
    def received(self, event: Received) -> None:
        entry = self.handed(event)
        if entry is not None:
            self._refused.pop(entry, None)

    @on(Frame, "MESSAGE", "FLOW")
    def came(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if session is not None and session.consumer is not None and is_torn(event):
            self._torn.add(session.consumer.handle)

    @on(Completion, "receive")
    def receive_ended(self, event: Completion) -> None:
        operation = self.tracker.operations.get(event.op)
        short = operation is not None and (event.count or 0) < int(operation.invoke.args.get("count", 1))
        for entry, (call, due_ns) in list(self._refused.items()):
            session = call.consumer.live_on(entry.topic)
            if event.handle in self._torn or session is None or session.ready is None:
                continue
            due_ns = max(due_ns, session.ready.t_ns)
            if short and event.handle == call.consumer.handle and late("answer", due_ns, event.t_ns):
                del self._refused[entry]
                self.overdue(
                    "answer",
                    due_ns,
                    event.t_ns,
                    "never-again",
                    f"consumer {event.handle}: {entry}, which came in chunks, was refused at {ms(call.called_ns)} and "
                    f"had not come again by {ms(event.t_ns)}, when a receive ended short",
                    self.stored[entry],
                    call.message,
                    event,
                )
