"""Entries nobody can read under a checksum that fits: batches that cannot be taken apart, and bad metadata."""

from __future__ import annotations

from dataclasses import dataclass

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.consumption import ConsumerCheck, entry_on, from_client, late, to_client
from assay_conformance.checks.leaving import LeavingCheck
from assay_conformance.checks.tracker import ConsumerSession, Entry
from assay_conformance.model.event import AgentEnded, Closed, Event, Fate, Frame


@dataclass(slots=True)
class _Bad:
    session: ConsumerSession
    frame: Frame
    entry: Entry
    answer: Frame | None = None


class Discarded(ConsumerCheck, LeavingCheck):
    """Entries nobody can read: each is acknowledged, so that it does not come for ever, and costs nothing else."""

    what: str
    expected: str

    def start(self) -> None:
        self._bad: list[_Bad] = []

    def is_bad(self, frame: Frame) -> bool:
        raise NotImplementedError

    def answers(self, ack: Frame) -> bool:
        """Whether this ACK says what it has to."""
        raise NotImplementedError

    @on(Frame, "MESSAGE")
    def message(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if session is None or session.consumer is None or not to_client(event):
            return
        if self.is_bad(event):
            self._bad.append(_Bad(session, event, entry_on(session, event.ids[0])))
        else:
            self.came_beside(event, Fate.ALTERED)

    @on(Frame)
    def put_in(self, event: Frame) -> None:
        """Who leaves over a command that nobody asked for, or knows, is told of by checks of their own."""
        if event.command != "MESSAGE" and to_client(event):
            self.came_beside(event, Fate.INJECTED)

    @on(Frame, "ACK")
    def ack(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if session is None or not from_client(event) or event.ack_type == "Cumulative" or not self._bad:
            return
        entries = {entry_on(session, id) for id in event.ids}
        for bad in self._bad:
            if bad.session is session and bad.entry in entries and bad.answer is None and self.answers(event):
                bad.answer = event
                self.exercise(event)

    @on(Closed)
    def connection_closed(self, event: Closed) -> None:
        """Before `over` forgets what was on it."""
        for bad in self._bad:
            soon = not late("answer", bad.frame.t_ns, event.t_ns)
            if bad.frame.conn == event.conn and soon and self.was_left(event):
                self.breach(
                    "connection-closed",
                    f"the client closed connection {event.conn} at {ms(event.t_ns)}, after {bad.entry} had come at "
                    f"{ms(bad.frame.t_ns)} with {self.what}; expected it to go on without that message",
                    bad.frame,
                    event,
                )
                return

    def over(self, session: ConsumerSession, event: Event) -> None:
        mine = [bad for bad in self._bad if bad.session is session]
        if isinstance(event, Closed | AgentEnded) or session.consumer is None:
            return
        for bad in mine:
            if bad.answer is None and late("answer", bad.frame.t_ns, event.t_ns):
                self.overdue(
                    "answer",
                    bad.frame.t_ns,
                    event.t_ns,
                    "not-reported",
                    f"consumer {session.consumer.handle} got {bad.entry} with {self.what} at {ms(bad.frame.t_ns)} and "
                    f"had not sent {self.expected} by {ms(event.t_ns)}",
                    bad.frame,
                    event,
                )
