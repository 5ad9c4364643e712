"""What a broker that loads a topic still knows of acknowledgements.

A broker that closes a topic in order writes its cursors as they are, and tells the consumers first. One that dies has
written a cursor at most once a period: an acknowledgment was written for certain when another one came a whole period
behind it (then a write was allowed in between, and wrote both), or the regular flush of cursors was due since. What is
younger may be known or not.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.dispatches import DispatchLedger, Group, Member, name_of
from assay_conformance.checks.loading import BrokerEnds
from assay_conformance.checks.occasions import Trait
from assay_conformance.checks.tolerance import MS, TOLERANCES
from assay_conformance.model.event import Closed, ClosedBy, Event, Fired, Frame, Position, Stepped
from assay_conformance.model.fault import Direction
from assay_conformance.model.requirement import RequirementId
from assay_conformance.model.topic_names import base_topic

ARRIVED_NS = 100 * MS
"""An ACK that crosses the broker's close comes to nobody, as does one that a dying process has not read."""
WRITTEN_NS = 300 * MS
"""How long a write of a cursor may take on a busy disk."""
SERVED_NS = 200 * MS
"""How long a consumer with permits must have been there for what is unacknowledged to have reached it."""

_HOLDING_BACK = (
    "dispatch_rate",
    "subscription_rate",
    "max_unacked_per_consumer",
    "max_unacked_per_subscription",
    "message_ttl_s",
    "backlog_quota",
)
"""Policies under which an entry may wait, or be gone."""

_ALONE = frozenset({"Failover", "Key_Shared"})
"""Types of subscription in which what is unacknowledged may be for another one than who has permits."""


@dataclass(slots=True)
class _Kept:
    """Of one subscription. `young`: acknowledgements, with their times, that a broker which dies may lose. `certain`:
    entries that whoever loads the topic knows to be acknowledged. `owed`: entries, with what took them from their
    consumer, that have to come again."""

    young: deque[tuple[int, Position]] = field(default_factory=deque)
    certain: set[Position] = field(default_factory=set)
    owed: dict[Position, tuple[Frame, Event]] = field(default_factory=dict)
    interrupted: Event | None = None


class AckSurvivesUnload(DispatchLedger):
    """Judged from a load on: what is certain does not come again, and what is unacknowledged does.

    Not owed is what may wait for something else: a rate, a limit of unacknowledged messages, a time of delivery, or the
    consumer that has its other chunks; nor what stands behind a chunk that is for nobody.
    """

    requirement = RequirementId("ack.survives-unload")
    needs = (Trait.LET_GO,)

    def start(self) -> None:
        super().start()
        settings = self.view.case.topology.settings
        self._served_ns = {"Failover": SERVED_NS + settings.failover_delay_ms * MS}
        self._period_ns = settings.cursor_persist_ms * MS + ARRIVED_NS
        self._flush_ns = settings.cursor_flush_s * 1_000 * MS + WRITTEN_NS
        self._kept: dict[Group, _Kept] = {}
        self._ends = BrokerEnds(self.view.case)

    # --- what is known --------------------------------------------------------------------------------------------

    def acknowledged(self, group: Group, position: Position, ack: Frame) -> None:
        kept = self._of(group)
        kept.young.append((ack.t_ns, position))
        kept.owed.pop(position, None)

    def sent(self, group: Group, member: Member, frame: Frame, position: Position) -> None:
        kept = self._kept.get(group)
        if kept is None or kept.interrupted is None or not group.durable:
            return
        kept.owed.pop(position, None)
        if position not in kept.certain:
            return
        kept.certain.discard(position)
        if not self.tracker.load.quiet(group.acked_ns[position], kept.interrupted.t_ns, TOLERANCES["answer"]):
            self.undecided("the machine was too busy to tell when a broker had written what was acknowledged")
        else:
            self.breach(
                "acked-again",
                f"{group}: entry {name_of(position)} was acknowledged long before its broker ended at "
                f"{ms(kept.interrupted.t_ns)}, and was sent to {member} again at {ms(frame.t_ns)}",
                group.acked[position],
                kept.interrupted,
                frame,
            )

    def joined(self, group: Group, member: Member) -> None:
        kept = self._kept.get(group)
        if kept is not None and kept.interrupted is not None and group.durable and kept.certain:
            self.exercise(member.joined)

    # --- what ends a broker's word --------------------------------------------------------------------------------

    @on(Frame, "CLOSE_CONSUMER")
    def closed_in_order(self, event: Frame) -> None:
        group, member = self.member(event)
        if event.dir is Direction.TO_CLIENT and event.at_broker and group is not None and member is not None:
            self._interrupted(group, event, known_ns=event.t_ns - ARRIVED_NS)
            self._owes(group, member, event)

    @on(Closed)
    def connection_ended(self, event: Closed) -> None:
        if event.by is not ClosedBy.BROKER:
            return
        for group in self.groups.values():
            for member in reversed(group.members):
                if member.session.conn == event.conn:
                    self._died(group, event)
                    self._owes(group, member, event)

    @on(Stepped)
    @on(Fired)
    def broker_ended(self, event: Stepped | Fired) -> None:
        """Subscriptions without a consumer have nobody who would notice."""
        if self._ends.see(event):
            for group in self.groups.values():
                self._died(group, event)

    def _died(self, group: Group, event: Event) -> None:
        kept = self._of(group)
        settled_ns = event.t_ns - WRITTEN_NS
        last_ns = next((t_ns for t_ns, _ in reversed(kept.young) if t_ns <= settled_ns), 0)
        self._interrupted(group, event, known_ns=max(last_ns - self._period_ns, event.t_ns - self._flush_ns))

    def _interrupted(self, group: Group, event: Event, *, known_ns: int) -> None:
        """From here on only what was acknowledged up to `known_ns` is certain."""
        kept = self._of(group)
        kept.interrupted = event
        while kept.young and kept.young[0][0] <= known_ns:
            kept.certain.add(kept.young.popleft()[1])
        kept.young.clear()

    def _owes(self, group: Group, member: Member, event: Event) -> None:
        if member.session.ended is not event:
            return  # It was gone before, and what it had is the others' since.
        kept = self._of(group)
        for position, frame in member.out.items():
            meta = frame.meta
            waits = meta is not None and (meta.deliver_at_ms is not None or meta.uuid is not None)
            if position in group.unacked and not waits:
                kept.owed[position] = (frame, event)

    # --- at the end -----------------------------------------------------------------------------------------------

    def finish(self) -> None:
        for group, kept in self._kept.items():
            # Whatever an ACK has named since, a few messages of a batch for one, is not owed any more.
            owed = {position: out for position, out in kept.owed.items() if position in group.unacked}
            if not owed or not group.durable or self._holds_back(group) or group not in self.groups.values():
                continue
            position, (frame, end) = min(owed.items())
            if self._is_stuck(group, position):
                continue
            heir = next((member for member in group.members if self._is_starved(group, member, end)), None)
            if heir is not None:
                self.breach(
                    "never-again",
                    f"{group}: entry {name_of(position)} was out and not acknowledged when its broker ended at "
                    f"{ms(end.t_ns)}, and never came to {heir}, which had {heir.permits} permits left",
                    frame,
                    end,
                    heir.joined,
                )

    def _is_starved(self, group: Group, member: Member, end: Event) -> bool:
        """Whether a consumer came since, and went on having permits for what it was owed."""
        gone_ns = self.tracker.end_ns if member.session.ended is None else member.session.ended.t_ns
        since = [other for other in group.members if other.joined.seq > end.seq]
        alone = group.kind not in _ALONE or len(since) == 1
        there = gone_ns - max(member.joined.t_ns, member.able_ns) > self._served_ns.get(group.kind, SERVED_NS)
        return member.joined.seq > end.seq and alone and member.permits > 0 and there

    def _is_stuck(self, group: Group, position: Position) -> bool:
        orphan = self.orphan(group) if group.kind == "Shared" else None
        return orphan is not None and orphan < position

    def _holds_back(self, group: Group) -> bool:
        topology = self.view.case.topology
        topic = topology.named(base_topic(group.topic))
        if topic is None or topology.settings.dispatch_rate.is_set:
            return True
        policies = topology.policies_of(topic)
        return any(getattr(policies, name) for name in _HOLDING_BACK)

    def _of(self, group: Group) -> _Kept:
        return self._kept.setdefault(group, _Kept())
