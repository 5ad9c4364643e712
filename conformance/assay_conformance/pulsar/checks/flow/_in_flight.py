"""Bounds on what a producer may have without a receipt: by number, by bytes, and what a full queue answers.

The wire shows less than the client holds: what waits in an open batch, or has a receipt it has not read yet, is not
seen. So what is seen to be beyond a bound is beyond it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from assay_conformance.checks.base import CAME, LEFT, Check, on
from assay_conformance.checks.lines import Unit
from assay_conformance.checks.tolerance import MS
from assay_conformance.checks.tracker import Operation
from assay_conformance.model.event import ErrorClass, Frame, Invoke, Outcome

_OK = Outcome.OK
DEFAULT_MAX_PENDING = 1_000
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
