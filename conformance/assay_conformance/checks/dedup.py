"""Deduplication: a topic that remembers each producer name's highest sequence id, and a client that goes along with it.

The broker's half is the package `dedup_broker`. The client takes a duplicate's receipt as success
(`duplicate-receipt-completes`), numbers a new producer after the last id the broker knows
(`resumes-after-last-sequence-id`), and one that comes back after its own (`reconnect-keeps-numbering`). Together: each
message is stored exactly once and in order (`effectively-once`).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import ClassVar

from assay_conformance.checks.base import LEFT, Check, View, ms, on
from assay_conformance.checks.holdings import Holding, HoldingsCheck, keeps_call_order, topic_of
from assay_conformance.checks.lines import Line, Unit, is_duplicate, last_id
from assay_conformance.checks.occasions import Trait
from assay_conformance.checks.resend import IN_FLIGHT_NS
from assay_conformance.checks.tolerance import TOLERANCES
from assay_conformance.checks.tracker import ProducerSession
from assay_conformance.checks.worlds import Kind
from assay_conformance.model.case import Case, Who
from assay_conformance.model.event import Completion, ErrorClass, Event, Frame, Outcome
from assay_conformance.model.fault import Rewrite
from assay_conformance.model.requirement import RequirementId

NO_SEQUENCE_ID = -1


def calls_markers(case: Case) -> bool:
    """Whether a fault of the Case says of SENDs that they are markers."""
    return any(isinstance(fault.action, Rewrite) and "marker" in fault.action.fields for fault in case.faults)


def deduplicated(view: View) -> frozenset[str]:
    """Topics that deduplicate from the Case's first step to its last; none where a fault calls SENDs markers, for those
    pass whatever their id is, and only `markers-are-exempt` counts without them."""
    if calls_markers(view.case):
        return frozenset()
    changed = {
        step.args.get("topic")
        for step in view.case.steps
        if step.who is Who.BROKER and step.verb == "set_policy" and "deduplication" in step.args
    }
    return frozenset(topic.name for topic in view.case.topology.topics if topic.deduplication) - changed


def initial_id(view: View, handle: int) -> int | None:
    """The configured initial sequence id; clients that must have a number write "none" as a negative one."""
    configured = view.producer_setting(handle, "initial_sequence_id")
    return None if configured is None or int(configured) < 0 else int(configured)


def may_repeat_ids(view: View, handle: int) -> bool:
    """The application chooses ids, or where they begin: the broker may have seen them before."""
    return handle in view.tracker.foresight.explicit or initial_id(view, handle) is not None


class ResumesAfterLastId(Check):
    """The first SEND of a new producer carries the id after the configured initial one, else after the broker's last.

    Judged on the first session of a producer handle, where its first message leaves; a handle that reconnected before
    it sent anything may go by either answer.
    """

    requirement = RequirementId("dedup.resumes-after-last-sequence-id")
    skips_plain = True

    def start(self) -> None:
        self._seen: set[int] = set()

    @on(Frame, "SEND", seen=LEFT)
    def send(self, event: Frame) -> None:
        unit = self.tracker.lines.unit
        if unit is None or unit.index or self.tracker.lines.again or not unit.numbers:
            return
        line = unit.line
        if line.handle is None or line.handle in self._seen:
            return
        self._seen.add(line.handle)
        if unit.numbers[0] == 0 and not self._explicit(line) and not self._reconnected(line, unit):
            self._judge(line, unit, event)

    def _judge(self, line: Line, unit: Unit, event: Frame) -> None:
        ready = unit.session.ready
        if ready is None:
            return
        initial = initial_id(self.view, line.handle or 0)
        last = int(ready.fields.get("last_sequence_id", NO_SEQUENCE_ID))
        expected = (last if initial is None else initial) + 1
        source = f"the broker's last id {last}" if initial is None else f"the configured initial id {initial}"
        self.exercise(event)
        if unit.sequence_id != expected:
            self.breach(
                "starts-elsewhere",
                f"{line}: its first SEND left at {ms(event.t_ns)} with sequence id {unit.sequence_id}; after {source} "
                f"(PRODUCER_SUCCESS at {ms(ready.t_ns)}) {expected} was expected",
                ready,
                event,
            )

    def _explicit(self, line: Line) -> bool:
        return line.handle in self.tracker.foresight.explicit or self._sorts_by_key(line)

    def _sorts_by_key(self, line: Line) -> bool:
        return self.view.producer_setting(line.handle or 0, "batching_type") == "key_based"

    def _reconnected(self, line: Line, unit: Unit) -> bool:
        """Another session of that name came between opening the handle and this SEND."""
        opening = self.tracker.lines.openings[line.handle or 0]
        return any(
            session is not unit.session and session.request.seq > opening.seq
            for session in self.tracker.producers.values()
            if session.topic == line.topic and session.name == line.name
        )


class KeepsOwnNumbering(Check):
    """After a reconnect the next message takes the id behind the producer's own last one, whatever the broker said.

    Judged is the first message asked for after each later PRODUCER_SUCCESS, where the broker's word and the producer's
    own number lead to different ids. A producer that has sent nothing yet may go by the broker's word.
    """

    requirement = RequirementId("dedup.reconnect-keeps-numbering")
    skips_plain = True

    def finish(self) -> None:
        for line in self.tracker.lines.all:
            if line.handle is None or line.handle in self.tracker.foresight.explicit:
                continue
            if self.view.producer_setting(line.handle, "batching_type") != "key_based":
                asked = self._asked(line) if len(line.sessions) > 1 else []
                for session in line.sessions[1:]:
                    self._judge(line, session, asked)

    def _judge(self, line: Line, session: ProducerSession, asked: Sequence[tuple[int, Unit, Unit]]) -> None:
        ready = session.ready
        pair = next(((before, unit) for seq, before, unit in asked if ready is not None and seq > ready.seq), None)
        if ready is None or pair is None:
            return
        before, unit = pair
        own, told = last_id(before), int(ready.fields.get("last_sequence_id", NO_SEQUENCE_ID))
        between = unit.numbers[0] - before.numbers[-1]
        if own < told + 1 <= own + between:
            return  # Both lead there.
        if unit.sequence_id != told + 1:
            self.exercise(unit.first)
            return
        self.breach(
            "took-the-brokers",
            f"{line}: message {unit.numbers[0]} left at {ms(unit.first.t_ns)} with sequence id {unit.sequence_id}, "
            f"after PRODUCER_SUCCESS on connection {session.conn} at {ms(ready.t_ns)} said that {told} was the last; "
            f"it had sent up to {own} itself, so {own + 1} was expected",
            before.first,
            ready,
            unit.first,
        )

    def _asked(self, line: Line) -> list[tuple[int, Unit, Unit]]:
        """When the first message of each unit was asked for, and the unit of earlier messages before it."""
        known = [unit for unit in line.units if unit.numbers]
        return [
            (send.invoke.seq, before, unit)
            for before, unit in itertools.pairwise(known)
            if before.numbers[-1] < unit.numbers[0]
            and (send := self.tracker.send_of(line.handle or 0, unit.numbers[0])) is not None
        ]


def _was_up(end: Completion, receipt: Frame) -> bool:
    """Its time was over before the client can have read the receipt, whenever the bench heard of that."""
    return end.error is ErrorClass.TIMEOUT and (end.done_ns or end.t_ns) < receipt.t_ns + IN_FLIGHT_NS


class DuplicateReceiptCompletes(Check):
    """A receipt without an id completes its send as any other receipt does.

    One behind a SEND_ERROR may find that its producer has left over that.
    """

    requirement = RequirementId("dedup.duplicate-receipt-completes")
    needs = (Trait.DUPLICATE,)

    def start(self) -> None:
        self._receipts: dict[int, tuple[Frame, Unit]] = {}
        self._refused: set[int] = set()
        """Connections with a SEND_ERROR."""

    @on(Frame, "SEND_ERROR")
    def refused(self, event: Frame) -> None:
        self._refused.add(event.conn)

    @on(Frame, "SEND_RECEIPT")
    def receipt(self, event: Frame) -> None:
        unit = self.tracker.lines.unit
        # One that does not fit the head of the queue is another requirement's matter.
        fits = unit is not None and unit is self.tracker.lines.head and event.conn not in self._refused
        if event.to_receiver and unit is not None and fits and is_duplicate(event) and not unit.session.sent_away:
            self._receipts[id(unit)] = (event, unit)

    def finish(self) -> None:
        for receipt, unit in self._receipts.values():
            if unit.receipts[-1] is receipt and not unit.errors:
                self._judge(receipt, unit)

    def _judge(self, receipt: Frame, unit: Unit) -> None:
        for number in unit.numbers:
            send = self.tracker.send_of(unit.line.handle or 0, number)
            if send is None:
                continue
            end = send.completion
            if end is not None and end.outcome is Outcome.OK:
                if end.seq > receipt.seq:
                    self.exercise(receipt)
                continue
            ended_ns = None if end is None else end.done_ns or end.t_ns
            if end is not None and (end.seq < receipt.seq or _was_up(end, receipt)):
                continue
            if not self._was_delivered(receipt, unit, ended_ns):
                continue
            # What a client starved of time has not read yet, it can time out meanwhile.
            until_ns = self.tracker.end_ns if ended_ns is None else ended_ns
            if not self.tracker.load.fair(receipt.t_ns, until_ns, TOLERANCES["answer"]):
                self.undecided("the machine was too busy to say whether a receipt was read in time")
            else:
                came = "it never completed" if end is None else f"it ended as {end.error} at {ms(end.t_ns)}"
                self.breach(
                    "not-completed",
                    f"{unit.line}: message {number} got the receipt of a duplicate at {ms(receipt.t_ns)}, "
                    f"which means that it is stored; {came}",
                    receipt,
                    end or send.invoke,
                )

    def _was_delivered(self, receipt: Frame, unit: Unit, ended_ns: int | None) -> bool:
        """Nothing ended the connection or the producer while the receipt may have been under way."""
        settled_ns = receipt.t_ns + TOLERANCES["answer"].slack_ns
        closed, closing = self.tracker.closed.get(receipt.conn), unit.line.closing
        ends = [self.tracker.end_ns, *([closed.t_ns] if closed else []), *([closing.t_ns] if closing else [])]
        # A send that failed at once was failed by this receipt; one that went on waiting needs time to prove it.
        return min(ends) > settled_ns if ended_ns is None else min(ends) > min(ended_ns, settled_ns)


class EffectivelyOnce(HoldingsCheck):
    """With deduplication, a fixed producer name and the client's own numbering: each message once, and in order.

    A configured initial sequence id may repeat ids on purpose, raw entries put into the topic may take them, and two
    producers that have one name at the same time give them out twice.
    """

    requirement = RequirementId("dedup.effectively-once")
    skips_plain = True
    codes: ClassVar[dict[Kind, str]] = {
        Kind.LOST: "lost",
        Kind.TWICE: "stored-twice",
        Kind.DISORDER: "reordered",
        Kind.PHANTOM: "stored-though-failed",
    }
    once: ClassVar[bool] = True

    def judges(self, holding: Holding) -> bool:
        setting = self.view.producer_setting
        return (
            holding.topic.name in deduplicated(self.view)
            and setting(holding.handle, "producer_name") is not None
            and not may_repeat_ids(self.view, holding.handle)
            and keeps_call_order(self, holding)
            and not self._shares_its_name(holding)
            and not any(step.verb == "store_entries" for step in self.view.case.steps)
        )

    def _shares_its_name(self, holding: Holding) -> bool:
        """Another producer of that name was opened before this one was to be closed, or the other way round."""
        lines, name = self.tracker.lines, self.view.producer_setting(holding.handle, "producer_name")
        return any(
            handle != holding.handle
            and topic_of(self, handle) == holding.topic
            and self.view.producer_setting(handle, "producer_name") == name
            and opening.is_beside(lines.openings[holding.handle], lines.closings)
            for handle, opening in lines.openings.items()
        )

    def exercised_by(self, holding: Holding) -> Iterator[Event]:
        for line in self.tracker.lines.of_handle(holding.handle):
            for unit in line.units:
                yield from (frame for _, frame in unit.sends[1:])
