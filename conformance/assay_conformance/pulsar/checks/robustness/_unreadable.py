"""Unreadable entries with a valid checksum: batches that cannot be decoded, and bad metadata."""

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
    """Unreadable entries: each is acknowledged, so that it is not redelivered for ever, and has no other effect."""

    what: str
    expected: str

    def start(self) -> None:
        self._bad: list[_Bad] = []

    def is_bad(self, frame: Frame) -> bool:
        raise NotImplementedError

    def answers(self, ack: Frame) -> bool:
        """Whether this ACK has the required fields."""
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
    def other_frame(self, event: Frame) -> None:
        """A client that closes because of an unexpected or unknown command is judged by other checks."""
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
        """Judged before `over` drops what was on the connection."""
        for bad in self._bad:
            soon = not late("answer", bad.frame.t_ns, event.t_ns)
            if bad.frame.conn == event.conn and soon and self.was_left(event):
                self.breach(
                    "connection-closed",
                    f"{bad.entry} came over connection {event.conn} at {ms(bad.frame.t_ns)} with {self.what}; expected "
                    f"the client to go on without that message; it closed the connection at {ms(event.t_ns)}",
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
                    f"consumer {session.consumer.handle} got {bad.entry} with {self.what} at {ms(bad.frame.t_ns)}; "
                    f"expected {self.expected}; none had left by {ms(event.t_ns)}",
                    bad.frame,
                    event,
                )
