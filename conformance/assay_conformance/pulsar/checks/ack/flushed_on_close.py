"""ack.flushed-on-close"""

from __future__ import annotations

from dataclasses import dataclass, field

from assay_conformance.checks.base import ms
from assay_conformance.checks.consumption import (
    SessionKey,
    acked_entries,
    entry_on,
    from_client,
    number_in_force,
    of_batch,
    session_key,
)
from assay_conformance.checks.tolerance import MS
from assay_conformance.checks.tracker import Call, ConsumerSession, Entry
from assay_conformance.checks.written import AckCheck, Written
from assay_conformance.model.event import Event, Frame, Outcome
from assay_conformance.model.requirement import RequirementId


@dataclass(slots=True)
class _Closing:
    pending: dict[Entry, Call] = field(default_factory=dict)
    sent: set[Entry] = field(default_factory=set)
    sent_to: Entry | None = None
    """The greatest entry of a cumulative ACK."""


class FlushedOnClose(AckCheck):
    """When CLOSE_CONSUMER leaves, every ack of the last group interval has left on the same connection.

    One that was asked for earlier should have left long before the close, and is the other requirements' matter.
    """

    requirement = RequirementId("ack.flushed-on-close")
    skips_plain = True

    def start(self) -> None:
        self._sessions: dict[SessionKey, _Closing] = {}
        self._left: list[tuple[Call, Frame]] = []

    def asked(self, call: Call) -> None:
        session = self.session_of(call)
        unfit = call.invoke.verb != "ack" or call.consumer.closing is not None or of_batch(call.message.message_id)
        if session is None or unfit:
            return
        state = self._of(session)
        settled = call.entry in state.sent or (state.sent_to is not None and call.entry <= state.sent_to)
        if not settled:
            state.pending.setdefault(call.entry, call)

    def acked(self, ack: Written) -> None:
        consumer, session, event = ack
        state = self._of(session)
        if event.ack_type == "Cumulative" and event.ids:
            reached = entry_on(session, event.ids[0])
            state.sent_to = max(state.sent_to or reached, reached)
            settled = {entry for entry in state.pending if entry <= reached}
        else:
            settled = set(acked_entries(session, event))
        closing = consumer.closing
        if closing is not None and settled & state.pending.keys():
            self.exercise(event)
        state.sent |= settled
        for entry in settled:
            state.pending.pop(entry, None)

    def _of(self, session: ConsumerSession) -> _Closing:
        state = self._sessions.get(session_key(session))
        if state is None:
            state = self._sessions[session_key(session)] = _Closing()
        return state

    def over(self, session: ConsumerSession, event: Event) -> None:
        state = self._sessions.pop(session_key(session), _Closing())
        asked = session.consumer is not None and session.consumer.closing is not None
        if isinstance(event, Frame) and event.command == "CLOSE_CONSUMER" and from_client(event) and asked:
            owed = [call for call in state.pending.values() if self._still_held(call) and not _covered(call, state)]
            self._left += [(call, event) for call in owed]

    def _still_held(self, call: Call) -> bool:
        closing = call.consumer.closing
        interval_ms = number_in_force(self.view, call.consumer, "ack_group_ms")
        return interval_ms is None or closing is None or closing.t_ns - call.invoke.t_ns <= interval_ms * MS

    def finish(self) -> None:
        super().finish()
        for call, event in self._left:
            # Only an ack that the client took over is owed; its completion may come behind the CLOSE_CONSUMER.
            if call.operation.outcome is Outcome.OK:
                assert call.consumer.closing is not None
                self.breach(
                    "forgotten-on-close",
                    f"consumer {call.consumer.handle} was told at {ms(call.invoke.t_ns)} to acknowledge {call.entry} "
                    f"and at {ms(call.consumer.closing.t_ns)} to close; CLOSE_CONSUMER left at {ms(event.t_ns)}, "
                    f"and no ACK of {call.entry} before it",
                    call.invoke,
                    call.consumer.closing,
                    event,
                )


def _covered(call: Call, state: _Closing) -> bool:
    """A cumulative ack that is itself pending covers what is before it: one finding is enough."""
    return any(other.cumulative and other.entry > call.entry for other in state.pending.values())
