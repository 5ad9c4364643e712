"""Acknowledgments that wait for the broker's answer: what ends them, and what must not.

Judged are calls whose messages are whole entries of one connection, of a consumer that asks for receipts: a member of a
batch may be kept until the others of its entry are acknowledged, too.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from assay_conformance.checks.agreed import VersionCheck
from assay_conformance.checks.base import on
from assay_conformance.checks.consumption import entry_on, in_force, of_batch, to_client
from assay_conformance.checks.occasions import Setting
from assay_conformance.checks.tracker import Call, ConsumerSession, Entry
from assay_conformance.checks.written import AckCheck, Written
from assay_conformance.model.event import Completion, Event, Frame, Outcome
from assay_conformance.pulsar.checks.connection._versions import RECEIPTS_SINCE


@dataclass(slots=True)
class _Asked:
    """An ACK that asks for an answer, and what became of it: the answer, or the end of its session."""

    frame: Frame
    session: ConsumerSession
    reached: Entry | None
    """The greatest entry of a cumulative one."""
    entries: frozenset[Entry]
    answer: Frame | None = None
    lost: Event | None = None

    def covers(self, entry: Entry) -> bool:
        if self.reached is not None:
            return entry.topic == self.reached.topic and entry <= self.reached
        return entry in self.entries

    @property
    def refused(self) -> bool:
        return self.answer is not None and self.answer.fields.get("error") is not None


@dataclass(slots=True)
class _Consumer:
    asked: list[_Asked] = field(default_factory=list)

    def of(self, entry: Entry) -> list[_Asked]:
        return [asked for asked in self.asked if asked.covers(entry)]


class ReceiptCheck(VersionCheck, AckCheck):
    """Puts ACKs, their answers, and the calls behind them together."""

    needs = (frozenset({Setting("consumer", "ack_receipt"), (Frame, "ACK_RESPONSE")}),)

    def start(self) -> None:
        super().start()
        self._consumers: dict[int, _Consumer] = {}
        self._requests: dict[tuple[int, int], _Asked] = {}

    def ended_well(self, calls: list[Call], event: Completion) -> None:
        """A call of messages that are judged ended with `ok`."""

    def ended_badly(self, calls: list[Call], event: Completion) -> None: ...

    def asked_for(self, call: Call) -> list[_Asked]:
        """The ACKs that covered its entry, in order."""
        return self._consumers.get(call.consumer.handle, _Consumer()).of(call.entry)

    def waits(self, call: Call) -> bool:
        return bool(in_force(self.view, call.consumer, "ack_receipt"))

    def acked(self, ack: Written) -> None:
        consumer, session, event = ack
        if event.request_id is None:
            return
        entries = [entry_on(session, id) for id in event.ids]
        reached = max(entries, default=None) if event.ack_type == "Cumulative" else None
        asked = _Asked(event, session, reached, frozenset(entries))
        self._consumers.setdefault(consumer.handle, _Consumer()).asked.append(asked)
        self._requests[event.conn, event.request_id] = asked

    @on(Frame, "ACK_RESPONSE")
    def answered(self, event: Frame) -> None:
        asked = self._requests.get((event.conn, event.request_id or 0))
        if asked is not None and to_client(event):
            asked.answer = asked.answer or event

    def over(self, session: ConsumerSession, event: Event) -> None:
        """The broker forgets the consumer: an answer that has not come will not."""
        if session.ended is None:
            return
        for asked in self._requests.values():
            if asked.session is session and asked.answer is None:
                asked.lost = asked.lost or event

    @on(Completion, "ack")
    def completed(self, event: Completion) -> None:
        calls = list(self.tracker.calls.get(event.op, ()))
        if not calls or any(of_batch(call.message.message_id) for call in calls):
            return
        if not self.waits(calls[0]):
            return
        if any(call.entry.topic in call.consumer.unsure for call in calls):
            return  # An ACK may be another consumer's.
        # What came by way of a retry letter topic was acknowledged there, on a consumer that nobody opened.
        own = [call for call in calls if any(one.topic == call.entry.topic for one in call.consumer.sessions)]
        if event.outcome is Outcome.OK and own:
            self.ended_well(own, event)
        elif event.outcome is not Outcome.OK and own == calls:
            self.ended_badly(calls, event)

    def is_answered(self, call: Call) -> bool:
        """The broker that its consumer is with answers acknowledgments."""
        version = self.agreed_for(call)
        return version is not None and version >= RECEIPTS_SINCE

    def agreed_for(self, call: Call) -> int | None:
        """The version of the connection that its consumer is on."""
        session = call.consumer.live_on(call.entry.topic)
        agreed = None if session is None else self.agreed.get(session.conn)
        return None if agreed is None else agreed[0]
