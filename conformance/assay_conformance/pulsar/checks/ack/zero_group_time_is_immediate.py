"""ack.zero-group-time-is-immediate"""

from __future__ import annotations

from assay_conformance.checks.base import ms
from assay_conformance.checks.consumption import (
    SessionKey,
    acked_entries,
    elapsed,
    entry_on,
    late,
    number_in_force,
    of_batch,
    session_key,
)
from assay_conformance.checks.occasions import Trait
from assay_conformance.checks.tracker import Call, ConsumerSession, Entry
from assay_conformance.checks.written import AckCheck, Written
from assay_conformance.model.event import Event, Frame, Outcome
from assay_conformance.model.requirement import RequirementId


class ZeroGroupTimeIsImmediate(AckCheck):
    """Obligation: an ack that completed, of a whole entry, with a group interval of 0."""

    requirement = RequirementId("ack.zero-group-time-is-immediate")
    needs = (Trait.NO_INTERVAL,)

    def start(self) -> None:
        self._sessions: dict[SessionKey, dict[Entry, Call]] = {}
        self._reached: dict[tuple[int, str], Entry] = {}

    def asked(self, call: Call) -> None:
        session = self.session_of(call)
        if call.cumulative and not self._goes_on(call):
            return
        at_once = number_in_force(self.view, call.consumer, "ack_group_ms") == 0
        if call.invoke.verb == "ack" and session is not None and at_once and not of_batch(call.message.message_id):
            self._sessions.setdefault(session_key(session), {}).setdefault(call.entry, call)

    def _goes_on(self, call: Call) -> bool:
        """A cumulative ack that does not reach beyond an earlier one is ignored."""
        place = (call.consumer.handle, call.entry.topic)
        before = self._reached.get(place)
        self._reached[place] = max(before or call.entry, call.entry)
        return before is None or before < call.entry

    def acked(self, ack: Written) -> None:
        session, event = ack.session, ack.frame
        pending = self._sessions.get(session_key(session))
        if not pending or not event.ids:
            return
        if event.ack_type == "Cumulative":
            reached = entry_on(session, event.ids[0])
            settled = [entry for entry in pending if entry <= reached]
        else:
            settled = [entry for entry in acked_entries(session, event) if entry in pending]
        for entry in settled:
            self._judge(pending.pop(entry), event)

    def _judge(self, call: Call, event: Frame) -> None:
        completion = call.operation.completion
        told_ns = event.t_ns if completion is None else call.called_ns
        if late("at-once", told_ns, event.t_ns):
            self.suspect(
                "at-once",
                told_ns,
                event.t_ns,
                "waited",
                f"consumer {call.consumer.handle} has no group interval and was told at {ms(told_ns)} to acknowledge "
                f"{call.entry}; its ACK left {elapsed(event.t_ns, told_ns)} later, expected it to leave at once",
                call.invoke,
                event,
            )
        else:
            self.exercise(event)

    def over(self, session: ConsumerSession, event: Event) -> None:
        for call in self._sessions.pop(session_key(session), {}).values():
            completion = call.operation.completion
            done = completion is not None and completion.outcome is Outcome.OK
            if completion is not None and done and late("at-once", completion.t_ns, event.t_ns):
                self.suspect(
                    "at-once",
                    completion.t_ns,
                    event.t_ns,
                    "never-sent",
                    f"consumer {call.consumer.handle} has no group interval, was told at {ms(completion.t_ns)} to "
                    f"acknowledge {call.entry} and had sent no ACK of it by {ms(event.t_ns)}",
                    call.invoke,
                    event,
                )
