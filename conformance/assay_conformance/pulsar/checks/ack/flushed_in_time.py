"""When acknowledgments leave: gathered, one group interval after the first at the latest.

Acks are judged on the session their message came on, while it lasts: what a client does with acks over a lost
connection is the matter of `ack.flushed-on-close` and `ack.kept-while-disconnected`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from assay_conformance.checks.base import ms
from assay_conformance.checks.consumption import (
    LEAST_INTERVAL_MS,
    SessionKey,
    acked_entries,
    elapsed,
    entry_on,
    late,
    number_in_force,
    of_batch,
    session_key,
)
from assay_conformance.checks.tolerance import MS
from assay_conformance.checks.tracker import Call, ConsumerSession, Entry, OpenedConsumer
from assay_conformance.checks.written import AckCheck, Written
from assay_conformance.model.event import Event, Frame
from assay_conformance.model.requirement import RequirementId

SAME_FLUSH_NS = 5 * MS
"""ACK frames closer than this left in one flush: a client may write one command an id."""


@dataclass(slots=True)
class _Flushing:
    """What one session still owes, and what it has sent."""

    pending: dict[Entry, Call] = field(default_factory=dict)
    sent: dict[Entry, Frame] = field(default_factory=dict)
    cumulative: Entry | None = None
    moments: list[Frame] = field(default_factory=list)
    """Flushes of groups that were not full, by their first frame."""
    began: Frame | None = None
    ids: int = 0
    """Of the flush that began last."""


class FlushedInTime(AckCheck):
    """Obligation: an individual ack that completed, of a whole entry. Due one interval after the call."""

    requirement = RequirementId("ack.flushed-in-time")
    skips_plain = True

    def start(self) -> None:
        self._sessions: dict[SessionKey, _Flushing] = {}

    def called(self, call: Call) -> None:
        session = self.session_of(call)
        if call.invoke.verb != "ack" or session is None or of_batch(call.message.message_id):
            return
        state = self._of(session)
        if call.cumulative:
            state.cumulative = max(state.cumulative or call.entry, call.entry)
            state.pending = {entry: pending for entry, pending in state.pending.items() if entry > call.entry}
        elif call.entry in state.sent:
            if state.sent[call.entry].seq > call.invoke.seq:
                self.exercise(state.sent[call.entry])
        elif not (state.cumulative and call.entry <= state.cumulative):
            state.pending.setdefault(call.entry, call)

    def acked(self, ack: Written) -> None:
        consumer, session, event = ack
        state = self._of(session)
        if event.ack_type == "Cumulative":
            settled = [entry for entry in state.pending if event.ids and entry <= entry_on(session, event.ids[0])]
        else:
            entries = acked_entries(session, event)
            settled = [entry for entry in entries if entry in state.pending]
            state.sent.update(dict.fromkeys(entries, event))
        interval_ms = number_in_force(self.view, consumer, "ack_group_ms")
        for entry in settled:
            self._flushed(state.pending.pop(entry), interval_ms, consumer, event)
        if settled:
            self._grouped(state, consumer, event)

    def closing(self, consumer: OpenedConsumer, event: Event) -> None:
        for session in consumer.sessions:
            self.over(session, event)

    def over(self, session: ConsumerSession, event: Event) -> None:
        state = self._sessions.pop(session_key(session), _Flushing())
        for call in state.pending.values():
            interval_ms = number_in_force(self.view, call.consumer, "ack_group_ms")
            if interval_ms is not None and late("ack-flush", call.called_ns + interval_ms * MS, event.t_ns):
                self.suspect(
                    "ack-flush",
                    call.called_ns,
                    event.t_ns,
                    "never-flushed",
                    f"consumer {call.consumer.handle} was told at {ms(call.called_ns)} to acknowledge {call.entry} and "
                    f"had sent no ACK for it by {ms(event.t_ns)}; the group interval is {interval_ms} ms",
                    call.invoke,
                    event,
                )

    def _of(self, session: ConsumerSession) -> _Flushing:
        state = self._sessions.get(session_key(session))
        if state is None:
            state = self._sessions[session_key(session)] = _Flushing()
        return state

    def _flushed(self, call: Call, interval_ms: int | None, consumer: OpenedConsumer, event: Frame) -> None:
        if interval_ms is None:
            return
        if not late("ack-flush", call.called_ns + interval_ms * MS, event.t_ns):
            self.exercise(event)
        else:
            self.suspect(
                "ack-flush",
                call.called_ns,
                event.t_ns,
                "flushed-late",
                f"consumer {consumer.handle} was told at {ms(call.called_ns)} to acknowledge {call.entry}; its ACK "
                f"left {elapsed(event.t_ns, call.called_ns)} later, expected within the group interval of "
                f"{interval_ms} ms",
                call.invoke,
                event,
            )

    def _grouped(self, state: _Flushing, consumer: OpenedConsumer, event: Frame) -> None:
        """Three flushes in half an interval are no timer's work, unless a full group went at once."""
        interval_ms = number_in_force(self.view, consumer, "ack_group_ms") or 0
        largest = number_in_force(self.view, consumer, "ack_group_max")
        if interval_ms < LEAST_INTERVAL_MS:
            return
        moments = state.moments
        began = state.began is None or event.t_ns - state.began.t_ns >= SAME_FLUSH_NS
        if began:
            state.began, state.ids = event, 0
            moments.append(event)
            del moments[:-3]
        state.ids += len(event.ids)
        if largest is not None and state.ids >= largest:
            # To an old broker a group goes one command an id.
            if moments and moments[-1] is state.began:
                moments.pop()
            return
        if began and len(moments) == 3 and event.t_ns - moments[0].t_ns < interval_ms * MS / 2:
            self.suspect(
                "ack-flush",
                moments[0].t_ns - interval_ms * MS,
                event.t_ns,
                "not-grouped",
                f"consumer {consumer.handle} sent acknowledgments at {', '.join(ms(frame.t_ns) for frame in moments)}; "
                f"a group interval of {interval_ms} ms collects them into one or two",
                *moments,
            )
            moments.clear()
