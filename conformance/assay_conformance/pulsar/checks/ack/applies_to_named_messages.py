"""What an ACK settles at the broker: what comes again afterwards comes with what was left, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.consumption import bits_of, indexes_of, listed, plain_acks
from assay_conformance.checks.dispatches import SETTLED_NS, SHARED, DispatchLedger, Group, Member, name_of
from assay_conformance.checks.loading import BrokerEnds
from assay_conformance.model.event import Closed, ClosedBy, Fate, Fired, Frame, MessageId, Position, Stepped
from assay_conformance.model.fault import Direction
from assay_conformance.model.requirement import RequirementId

_LOADS = ("unload", "move", "migrate")
"""Steps after which a topic is loaded anew."""

EXCLUSIVE = "Exclusive"

SERVED_NS = 2 * SETTLED_NS
"""How long a consumer with permits must have been there for what it is owed to have reached it."""


@dataclass(slots=True)
class _Named:
    """An entry that was sent. `all` and `left`: a bit for each of its messages, and for each that no ACK has settled.
    `telling`: the ACK that would be read otherwise by a broker that errs: it names one message, or clears other bits
    than one before it. `holder`: to whom it was sent last."""

    all: int
    left: int
    holder: Member
    last: Frame | None = None
    telling: Frame | None = None


@dataclass(slots=True)
class _Kept:
    """By group. `void`: what a cumulative ACK named that settles nothing, and that has not come again. `odd`: a fault
    wrote bits into an ACK, and what a broker makes of those for a message that has none, and of the permits behind it,
    is its own affair."""

    group: Group
    named: dict[Position, _Named]
    void: dict[Position, Frame]
    odd: bool = False


class AppliesToNamedMessages(DispatchLedger):
    """Judged where it comes out: what was sent comes again, or somebody comes back to whom it would.

    What a broker knows of ACKs after it loaded a topic is another matter, as is who gets what comes again. One that is
    not durable is a new subscription whenever its consumer comes back.
    """

    requirement = RequirementId("ack.applies-to-named-messages")
    skips_plain = True

    def start(self) -> None:
        super().start()
        self._ends = BrokerEnds(self.view.case)
        self._by_index = self.view.case.topology.settings.batch_index_acks
        self._all: dict[int, _Kept] = {}

    # --- what is known ---

    @on(Frame, "ACK")
    def ack(self, event: Frame) -> None:
        group, member = self.member(event)
        if not event.at_broker or group is None or member is None or not plain_acks(event):
            return
        kept = self._of(group)
        kept.odd = kept.odd or (event.fate is Fate.ALTERED and any(event.ack_sets))
        if not member.lives:
            # One that crosses the consumer's close may be too late.
            kept.named.clear()
        elif event.ack_type == "Cumulative":
            self._up_to(kept, event)
        else:
            for place, id in enumerate(event.ids):
                named = kept.named.get(id.position)
                words = event.ack_sets[place] if place < len(event.ack_sets) else ()
                if named is not None and (self._by_index or not words):
                    _settle(named, id, words, event)

    def _up_to(self, kept: _Kept, event: Frame) -> None:
        # Who waits to be the active one is owed nothing, and a reader begins where it says.
        is_sole = kept.group.kind == EXCLUSIVE and kept.group.durable
        last = max(id.position for id in event.ids)
        for position in [position for position in kept.named if position <= last]:
            named = kept.named[position]
            if kept.group.kind in SHARED or (len(event.ids) > 1 and is_sole):
                if named.left:
                    kept.void[position] = event
                continue
            # Said again as it should be: what was void is not owed any more.
            kept.void.pop(position, None)
            if position == last or len(event.ids) > 1:
                del kept.named[position]
            else:
                named.left = 0
                named.last = event

    # --- where it comes out ---

    def sent(self, group: Group, member: Member, frame: Frame, position: Position) -> None:
        size = frame.messages
        kept = self._of(group)
        known = kept.named.get(position)
        if known is None:
            known = kept.named[position] = _Named((1 << size) - 1, (1 << size) - 1, member)
        known.holder = member
        if kept.void and kept.void.pop(position, None) is not None:
            self.exercise(frame)
        if known.last is None or frame.t_ns - known.last.t_ns < SETTLED_NS:
            return
        words = frame.ack_sets[0] if frame.ack_sets else ()
        open_ = (1 << size) - 1 & (bits_of(words) if words else -1)
        if open_ == known.left:
            self.exercise(frame)
            return
        over, missing = open_ & ~known.left, known.left & ~open_
        self.breach(
            "settled-again" if not known.left else "member-again" if over else "member-lost",
            f"{group}: entry {name_of(position)} was sent to {member} at {ms(frame.t_ns)} with messages "
            f"{listed(indexes_of(open_))} of {size} open; by the ACK at {ms(known.last.t_ns)} and those before it "
            f"{listed(indexes_of(known.left)) if known.left else 'none'} was left"
            + (f", so that {listed(indexes_of(missing))} would never come" if missing and not over else ""),
            known.last,
            frame,
        )

    def joined(self, group: Group, member: Member) -> None:
        if not group.durable:
            self._forget(group)
        for named in self._of(group).named.values():
            if named.telling is not None and not named.left:
                self.exercise(member.joined)

    def finish(self) -> None:
        for kept in [kept for kept in self._all.values() if not kept.odd]:
            for position, ack in kept.void.items():
                named = kept.named[position]
                heir = next((member for member in kept.group.members if self._is_owed(member, named, ack)), None)
                if heir is not None and named.left:
                    self.breach(
                        "taken",
                        f"{kept.group}: a cumulative ACK came at {ms(ack.t_ns)}, which settles nothing there; entry "
                        f"{name_of(position)}, which it covers, never came to {heir}, who had {heir.permits} permits "
                        "left",
                        ack,
                        heir.joined,
                    )
                    break

    def _is_owed(self, member: Member, named: _Named, ack: Frame) -> bool:
        """It came behind the ACK, and was there with permits long enough when the entry was with nobody any more."""
        left = named.holder.left
        if left is None or member.joined.seq < ack.seq or member.permits <= 0:
            return False
        gone_ns = self.tracker.end_ns if member.session.ended is None else member.session.ended.t_ns
        return gone_ns - max(member.joined.t_ns, left.t_ns) > SERVED_NS

    # --- what ends a broker's word ---

    @on(Frame, "CLOSE_CONSUMER")
    def unloaded(self, event: Frame) -> None:
        group, _ = self.member(event)
        if group is not None and event.dir is Direction.TO_CLIENT:
            self._forget(group)

    @on(Closed)
    def cut(self, event: Closed) -> None:
        if event.by is ClosedBy.BROKER:
            self._all.clear()

    @on(Stepped)
    @on(Fired)
    def ended(self, event: Stepped | Fired) -> None:
        step = self.view.case.step(event.step) if isinstance(event, Stepped) else None
        # Not everybody hears of it: a CLOSE_CONSUMER may be lost with its connection.
        if self._ends.see(event) or (step is not None and step.verb in _LOADS):
            self._all.clear()

    def _forget(self, group: Group) -> None:
        self._all.pop(id(group), None)

    def _of(self, group: Group) -> _Kept:
        kept = self._all.get(id(group))
        if kept is None:
            kept = self._all[id(group)] = _Kept(group, {}, {})
        return kept


def _settle(named: _Named, id: MessageId, words: tuple[int, ...], event: Frame) -> None:
    cleared = named.all & ~bits_of(words) if words else named.all
    if named.left & cleared:
        if (not words and id.batch_index >= 0) or (words and named.all & ~named.left & ~cleared):
            named.telling = event
        named.left &= ~cleared
        named.last = event
