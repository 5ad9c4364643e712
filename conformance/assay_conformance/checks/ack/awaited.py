"""Acknowledgments that wait for the broker's answer: what ends them, and what must not.

Judged are calls whose messages are whole entries of one connection, of a consumer that asks for receipts: a member of a
batch may be kept until the others of its entry are acknowledged, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from assay_conformance.checks.agreed import VersionCheck
from assay_conformance.checks.base import ms, on
from assay_conformance.checks.consumption import (
    SessionKey,
    entry_on,
    in_force,
    late,
    number_in_force,
    of_batch,
    session_key,
    to_client,
)
from assay_conformance.checks.negotiated import RECEIPTS_SINCE
from assay_conformance.checks.occasions import Setting
from assay_conformance.checks.resend import ended_ns
from assay_conformance.checks.tolerance import MS
from assay_conformance.checks.tracker import Call, ConsumerSession, Entry
from assay_conformance.checks.written import AckCheck, Written
from assay_conformance.model.event import Completion, Event, Frame, Invoke, Outcome
from assay_conformance.model.requirement import RequirementId


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


class ReceiptEndsCall(ReceiptCheck):
    """A call ends well with the broker's answer: not without one, and soon behind it."""

    requirement = RequirementId("ack.call-waits-for-response")

    def ended_well(self, calls: list[Call], event: Completion) -> None:
        if not all(self.is_answered(call) for call in calls):
            return
        for call in calls:
            asked = self.asked_for(call)
            if any(each.answer is not None or each.lost is not None for each in asked):
                continue
            self.breach(
                "ended-without-answer",
                f"consumer {call.consumer.handle} was told at {ms(call.invoke.t_ns)} to acknowledge {call.entry}, and "
                f"to wait for the broker; the call ended at {ms(event.t_ns)}, "
                + ("before any ACK that asks for an answer" if not asked else "before the answer had come"),
                call.invoke,
                *[each.frame for each in asked[-1:]],
                event,
            )
            return
        self.exercise(event)

    def ended_badly(self, calls: list[Call], event: Completion) -> None:
        """Given up, though the answer was there."""
        self._judge_end(calls, event, ended_ns(event))

    def finish(self) -> None:
        for operation in self.tracker.operations.values():
            if operation.invoke.verb == "ack" and operation.completion is None and operation.overdue is not None:
                overdue = operation.overdue
                self._judge_end(self.tracker.calls.get(operation.invoke.op, ()), overdue, overdue.t_ns)
        super().finish()

    def _judge_end(self, calls: Sequence[Call], end: Event, end_ns: int) -> None:
        """`end`: of a call that did not end well by then. It waits for all that it names, be it of several topics."""
        answers = [self._good_answer(call) for call in calls]
        if not calls or not all(answers) or len(calls) != len(calls[0].invoke.args.get("messages", ())):
            return
        last = max((answer for answer in answers if answer is not None), key=lambda answer: answer.seq)
        closing = calls[0].consumer.closing
        if closing is not None and closing.seq < end.seq:
            return
        if late("answer", last.t_ns, end_ns):
            self.overdue(
                "answer",
                last.t_ns,
                end_ns,
                "not-ended",
                f"consumer {calls[0].consumer.handle} got the broker's answer to an acknowledgment at "
                f"{ms(last.t_ns)}; the call that waits for it had not ended well at {ms(end_ns)}",
                calls[0].invoke,
                last,
                end,
            )

    def _good_answer(self, call: Call) -> Frame | None:
        """To the last ACK that left since the call. Of several that cover its entry nobody knows which is its own: all
        of them have to be answered, but those that went with their connection."""
        since = [each for each in self.asked_for(call) if each.frame.seq > call.invoke.seq and each.lost is None]
        good = all(each.answer is not None and not each.refused for each in since)
        return since[-1].answer if since and good else None


class RefusedReceiptFails(ReceiptCheck):
    """Of the answers to a call's acknowledgments one has to be good before the call ends well."""

    requirement = RequirementId("ack.error-response-is-no-success")

    def ended_well(self, calls: list[Call], event: Completion) -> None:
        for call in calls:
            asked = self.asked_for(call)
            troubled = [each for each in asked if each.refused or each.lost is not None]
            if not troubled:
                continue
            if any(each.answer is not None and not each.refused for each in asked):
                self.exercise(event)
                continue
            if any(each.answer is None and each.lost is None for each in asked):
                continue  # Ended without an answer: the other requirement's.
            last = troubled[-1]
            what = last.answer or last.lost
            assert what is not None
            word = "refused it" if last.refused else "was lost with the connection's consumer before it answered"
            self.breach(
                "refusal-taken-for-success" if last.refused else "loss-taken-for-success",
                f"consumer {call.consumer.handle} asked for an answer when it acknowledged {call.entry} at "
                f"{ms(last.frame.t_ns)}; the broker {word} at {ms(what.t_ns)}, and the call ended well at "
                f"{ms(event.t_ns)}",
                last.frame,
                what,
                event,
            )

    def ended_badly(self, calls: list[Call], event: Completion) -> None:
        if any(each.refused or each.lost is not None for call in calls for each in self.asked_for(call)):
            self.exercise(event)


class NoReceiptFromOldBroker(ReceiptCheck):
    """Where the broker answers no ACK the call ends when the acknowledgment has left."""

    requirement = RequirementId("ack.no-response-from-old-broker")

    def start(self) -> None:
        super().start()
        self._old: dict[int, tuple[Call, SessionKey]] = {}

    @on(Invoke, "ack")
    def told(self, event: Invoke) -> None:
        calls = self.tracker.calls.get(event.op, ())
        session = calls[0].consumer.live_on(calls[0].entry.topic) if calls else None
        if session is None or session.ready is None or not self.waits(calls[0]):
            return
        if any(of_batch(call.message.message_id) for call in calls):
            return
        # A call may be of several topics, and those be with several brokers.
        if all(self.agreed_for(call) is not None and not self.is_answered(call) for call in calls):
            self._old[event.op] = (calls[0], session_key(session))

    @on(Completion, "ack")
    def told_of_end(self, event: Completion) -> None:
        if event.op in self._old:
            call, _ = self._old.pop(event.op)
            self._judge(call, event)

    def over(self, session: ConsumerSession, event: Event) -> None:
        super().over(session, event)
        for op, (call, key) in list(self._old.items()):
            if key == session_key(session):
                del self._old[op]
                closing = call.consumer.closing
                if closing is None or closing.t_ns >= event.t_ns:
                    self._judge(call, event)

    def _judge(self, call: Call, event: Event) -> None:
        due_ns = call.invoke.t_ns + (number_in_force(self.view, call.consumer, "ack_group_ms") or 0) * MS
        if late("answer", due_ns, event.t_ns):
            self.overdue(
                "answer",
                due_ns,
                event.t_ns,
                "waits-for-nothing",
                f"consumer {call.consumer.handle} was told at {ms(call.invoke.t_ns)} to acknowledge {call.entry} on a "
                f"broker that answers no ACK; the call had not ended by {ms(event.t_ns)}",
                call.invoke,
                event,
            )
        elif isinstance(event, Completion) and event.outcome is Outcome.OK:
            self.exercise(event)
