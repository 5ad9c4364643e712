"""Bounds on what a producer may have without a receipt: by number, by bytes, and what a full queue answers.

The wire shows less than the client holds: what waits in an open batch, or has a receipt it has not read yet, is not
seen. So what is seen to be beyond a bound is beyond it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from assay_conformance.checks.base import CAME, LEFT, Check, ms, on
from assay_conformance.checks.consumption import TimedCheck, late
from assay_conformance.checks.holdings import topic_of
from assay_conformance.checks.lines import Unit
from assay_conformance.checks.occasions import Setting, Trait
from assay_conformance.checks.tolerance import MS
from assay_conformance.checks.tracker import Operation
from assay_conformance.model.event import Completion, ErrorClass, Frame, Invoke, Outcome, Stored
from assay_conformance.model.requirement import RequirementId

DEFAULT_MAX_PENDING = 1_000
_OK = Outcome.OK
SETTLED_NS = 100 * MS
"""How long before a call another send must have ended for its place to be certainly free."""


class InFlight(Check):
    """Which messages left and have no receipt. Those whose send did not succeed may have left the queue at any time,
    and chunks, which have no number, are not counted."""

    def start(self) -> None:
        self.messages: Counter[tuple[int, str]] = Counter()
        """(producer handle, topic) -> messages in flight there."""
        self.bytes: Counter[int] = Counter()
        """Producer handle -> theirs."""
        self._units: dict[int | None, dict[int, list[tuple[Operation, str | None]]]] = {}
        """Producer handle -> a unit in flight -> the sends inside, and where each left to."""

    def more(self, handle: int, event: Frame) -> None:
        """A unit left for the first time."""

    def in_flight(self, handle: int) -> Iterator[Operation]:
        """Sends of this producer that left, have no receipt, and succeed in the end."""
        return (send for sends in self._units.get(handle, {}).values() for send, _ in sends)

    @on(Frame, "SEND", seen=LEFT)
    def sent(self, event: Frame) -> None:
        unit = self.tracker.lines.unit
        if unit is None or not unit.numbers or unit.answered:
            return
        handle = unit.line.handle
        known = None if handle is None else self._units.get(handle)
        if handle is not None and known is None:
            known = self._units[handle] = {}
        if handle is not None and known is not None and id(unit) not in known:
            known[id(unit)] = leaving = self._succeeding(handle, unit)
            self._count(handle, leaving, 1)
            self.more(handle, event)

    @on(Frame, "SEND_RECEIPT", "SEND_ERROR", seen=CAME)
    def answered(self, _event: Frame) -> None:
        unit = self.tracker.lines.unit
        known = None if unit is None else self._units.get(unit.line.handle)
        if unit is not None and unit.line.handle is not None and known:
            self._count(unit.line.handle, known.pop(id(unit), ()), -1)

    def left_to(self, handle: int, send: Operation) -> str | None:
        """Where a message left to."""
        unit = self.tracker.lines.by_message.get((handle, send.invoke.number or 0))
        return None if unit is None else unit.line.topic

    def _succeeding(self, handle: int, unit: Unit) -> list[tuple[Operation, str | None]]:
        tracker, found = self.tracker, []
        outcomes, units = tracker.foresight.outcomes, tracker.lines.by_message
        for number in unit.numbers:
            send = tracker.send_of(handle, number)
            if send is not None and outcomes.get(send.invoke.op) is _OK:
                first = units.get((handle, number))
                found.append((send, None if first is None else first.line.topic))
        return found

    def _count(self, handle: int, sends: Iterable[tuple[Operation, str | None]], sign: int) -> None:
        for send, topic in sends:
            self.bytes[handle] += sign * (send.invoke.size or 0)
            if topic is not None:
                self.messages[handle, topic] += sign


class BoundedPending(InFlight):
    """Messages without a receipt, batch members one by one, against max_pending_messages of each partition."""

    requirement = RequirementId("flow.max-pending-messages")
    skips_plain = True

    def more(self, handle: int, event: Frame) -> None:
        limit = int(self.view.producer_setting(handle, "max_pending_messages") or 0)
        line = self.tracker.lines.unit.line if self.tracker.lines.unit is not None else None
        if not limit or line is None or self.tracker.lines.forged_receipts:
            return
        if handle in self.tracker.lines.unpaired:
            return
        count = self.messages[handle, line.topic]
        if count > limit:
            self.breach(
                "too-many-pending",
                f"producer {handle}: {count} messages on {line.topic} were without a receipt at {ms(event.t_ns)}, "
                f"max_pending_messages is {limit}",
                next(self.in_flight(handle)).invoke,
                event,
            )
        elif count == limit:
            self.exercise(event)


class BoundedMemory(InFlight):
    """Bytes of messages without a receipt, of all producers of a client together; one message may cross the limit."""

    requirement = RequirementId("flow.memory-limit")
    needs = (Setting("client", "memory_limit_bytes"),)

    def more(self, handle: int, event: Frame) -> None:
        client = self.view.client_of(handle)
        if client is None or self.tracker.lines.forged_receipts:
            return
        limit = int(self.view.client_setting(handle, "memory_limit_bytes") or 0)
        if not limit:
            return
        its = [h for h, opened in self.tracker.lines.openings.items() if opened.args.get("client") == client.handle]
        total = sum(self.bytes[other] for other in its)
        if total < limit:
            return
        sizes = [send.invoke.size or 0 for other in its for send in self.in_flight(other)]
        if total - max(sizes) > limit:
            self.breach(
                "too-many-bytes",
                f"{total} bytes of {len(sizes)} messages of client {client.handle} were without a receipt at "
                f"{ms(event.t_ns)}; memory_limit_bytes is {limit}, and one message of at most {max(sizes)} bytes may "
                "cross it",
                client,
                event,
            )
        else:
            self.exercise(event)


@dataclass(slots=True)
class _Sends:
    """The sends of one producer, and those of them that a full queue refused."""

    refused: dict[int, Completion] = field(default_factory=dict)
    asked: list[Operation] = field(default_factory=list)


class FullQueue(TimedCheck):
    """A full queue blocks the sender where it was told to, and refuses at once where not; what it refused is never
    sent, and nothing is refused while there is room.

    There is room when fewer sends than the limit were under way at the call, counting those that ended just before, and
    the memory of the client surely held this one beside all that.
    """

    requirement = RequirementId("flow.full-queue-blocks-or-fails")
    needs = (Trait.QUEUE_FULL,)

    def start(self) -> None:
        self._sends: dict[int, _Sends] = {}

    @on(Invoke, "send")
    def asked(self, event: Invoke) -> None:
        if event.handle is not None:
            sends = self._sends.setdefault(event.handle, _Sends())
            sends.asked.append(self.tracker.operations[event.op])

    @on(Completion, "send")
    def ended(self, event: Completion) -> None:
        operation = self.tracker.operations.get(event.op)
        if operation is None or event.error is not ErrorClass.QUEUE_FULL or event.handle is None:
            return
        invoke, handle = operation.invoke, event.handle
        self._sends[handle].refused[invoke.number or 0] = event
        if self.view.producer_setting(handle, "block_if_queue_full"):
            self.breach(
                "refused-instead-of-blocking",
                f"producer {handle}: message {invoke.number} was refused at {ms(event.t_ns)} because a queue is full; "
                "the producer was told to block",
                invoke,
                event,
            )
            return
        self._at_once(handle, invoke, event)
        self._room(handle, invoke, event)
        self.exercise(event)

    def _at_once(self, handle: int, invoke: Invoke, event: Completion) -> None:
        called_ns, done_ns = event.called_ns, event.done_ns or event.t_ns
        if called_ns is not None and late("answer", called_ns, done_ns):
            self.overdue(
                "answer",
                called_ns,
                done_ns,
                "refused-late",
                f"producer {handle}: message {invoke.number} was sent at {ms(called_ns)} and refused at {ms(done_ns)}; "
                "a full queue that does not block answers at once",
                invoke,
                event,
            )

    def _room(self, handle: int, invoke: Invoke, event: Completion) -> None:
        setting = self.view.producer_setting
        limit = setting(handle, "max_pending_messages")
        limit = DEFAULT_MAX_PENDING if limit is None else int(limit)
        topic = topic_of(self, handle)
        partitioned = topic is None or topic.partitions
        if partitioned or setting(handle, "chunking") or handle in self.tracker.lines.burst:
            return
        if not memory_surely_fits(self, handle, invoke):
            return
        under_way = [send for send in self._sends[handle].asked if may_hold(send, invoke)]
        if limit == 0 or len(under_way) < limit:
            bytes_limit = self.view.client_setting(handle, "memory_limit_bytes")
            room = f", and memory_limit_bytes of {bytes_limit} would not have been reached" if bytes_limit else ""
            self.breach(
                "refused-with-room",
                f"producer {handle}: message {invoke.number} was refused at {ms(event.t_ns)} because a queue is full, "
                f"with {len(under_way)} sends under way; max_pending_messages is {limit or 'off'}{room}",
                invoke,
                event,
            )

    @on(Frame, "SEND")
    def sent(self, event: Frame) -> None:
        self._never(event, "sent")

    @on(Stored)
    def stored(self, event: Stored) -> None:
        self._never(event, "stored")

    def _never(self, event: Frame | Stored, how: str) -> None:
        for member in event.members:
            identity = self.tracker.own(member.identity)
            if identity is None:
                continue
            sends = self._sends.get(identity.handle)
            refusal = sends.refused.get(identity.number) if sends is not None else None
            if refusal is not None:
                self.breach(
                    f"refused-and-{how}",
                    f"producer {identity.handle}: message {identity.number} was refused at {ms(refusal.t_ns)} because "
                    f"a queue is full, and was {how} at {ms(event.t_ns)} all the same",
                    refusal,
                    event,
                )


def may_hold(send: Operation, call: Invoke) -> bool:
    """Whether a send asked for before this call may still have had its place in the queue at the call."""
    return send.invoke.seq < call.seq and _may_live(send, call)


def memory_surely_fits(check: Check, handle: int, call: Invoke) -> bool:
    """Whether the memory limit of a producer's client had room for this send, as far as is known when it is refused.

    Calls of other producers may reach the client in another order. Batches under way may hold more than what is in
    them, and so may a client that has consumers: for the letters they post, or for what they prefetch.
    """
    tracker, openings = check.tracker, check.tracker.lines.openings
    limit, client = check.view.client_setting(handle, "memory_limit_bytes"), openings[handle].args.get("client")
    if not limit:
        return True
    its = [other for other, opening in openings.items() if opening.args.get("client") == client]
    consumes = any(opened.invoke.args.get("client") == client for opened in tracker.opened_consumers.values())
    if consumes or not tracker.lines.burst.isdisjoint(its):
        return False
    held_bytes = call.size or 0
    for other in its:
        sends = tracker.sends.get(other, ())
        held = [send for send in sends if (may_hold if other == handle else _may_live)(send, call)]
        if held and check.view.producer_setting(other, "batching"):
            return False
        held_bytes += sum(send.invoke.size or 0 for send in held)
    return held_bytes <= int(limit)


def _may_live(send: Operation, call: Invoke) -> bool:
    end = send.completion
    if end is None:
        return True
    if end.error is ErrorClass.QUEUE_FULL:
        return False
    return (end.done_ns or end.t_ns) > call.t_ns - SETTLED_NS
