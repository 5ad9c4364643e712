"""What a topic keeps: all that a durable subscription has not acknowledged, and, without retention, nothing else."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.dispatches import DispatchLedger, Group, Member
from assay_conformance.checks.tolerance import MS, TOLERANCES
from assay_conformance.model.case import Topic, Who
from assay_conformance.model.event import Cursor, Frame, Position, ReadBack, Stepped, Stored
from assay_conformance.model.policy import Retention
from assay_conformance.model.requirement import RequirementId

MS_PER_S = 1_000

IN_ORDER = ("Exclusive", "Failover")


@dataclass(frozen=True, slots=True)
class _Unloaded:
    """A topic was unloaded: its ledger is closed, and what may go goes. `acked`: by whom what was acknowledged."""

    step: Stepped
    acked: dict[Group, frozenset[Position]]

    def may_go(self, entry: Stored, log: Iterable[Stored]) -> bool:
        """Whether all of its ledger, which is how entries go, was acknowledged by everybody."""
        stored = [other.id for other in log if other.t_ns <= self.step.t_ns]
        ledger = {id.position for id in stored if id.ledger == entry.id.ledger}
        return entry.t_ns < self.step.t_ns and all(ledger <= acked for acked in self.acked.values())


class RetainsUntilAcked(DispatchLedger):
    """Seen by who comes to the topic, or back to it: from the first entry that is sent in order.

    Time to live is judged where it and the interval of the broker's look are over; deletion where a topic says that
    nothing is retained, and some time after it was loaded again: a broker deletes in the background.
    """

    requirement = RequirementId("subscription.retains-until-acked")
    skips_plain = True

    def start(self) -> None:
        super().start()
        topology = self.view.case.topology
        self._policies = {topic.name: topology.policies_of(topic) for topic in topology.topics}
        self._check_ms = topology.settings.expiry_check_ms
        self._began: dict[Group, Frame] = {}
        self._sought: set[tuple[str, str]] = set()
        """Topic and name of subscriptions that begin where they were told to."""
        self._unloaded: dict[str, _Unloaded] = {}
        self._loaded_ns: dict[str, int] = {}
        """The first that was seen of a topic since it was unloaded."""
        self._held: dict[str, ReadBack] = {}
        self._cursors: list[Cursor] = []

    def shrinking(self) -> frozenset[object]:
        """What has a time to live is what this is about."""
        topics = self.view.case.topology.topics
        return super().shrinking() - {topic.name for topic in topics if self._keeps_its_policies(topic)}

    def _keeps_its_policies(self, topic: Topic) -> bool:
        changed = [step.args.get("topic") for step in self.view.case.steps if step.verb in ("set_policy", "delete")]
        return topic.name not in changed and None not in changed

    @on(Stepped)
    def stepped(self, event: Stepped) -> None:
        step = self.view.case.step(event.step)
        if step is None or step.who is not Who.BROKER or step.verb != "unload" or event.skipped:
            return
        topic = str(step.args.get("topic"))
        durable = [group for group in self.groups.values() if group.topic == topic and group.durable]
        acked = {
            group: frozenset(position for position in group.acked if group.has_settled(position, event.t_ns))
            for group in durable
        }
        self._unloaded[topic] = _Unloaded(event, acked)
        self._loaded_ns.pop(topic, None)
        if any(group.living() for group in self.groups.values() if group.topic == topic):
            # Whoever was there is gone with the topic: somebody has come back before the step was over.
            self._loaded_ns[topic] = event.t_ns

    @on(Stored)
    def entry(self, event: Stored) -> None:
        self._loaded_ns.setdefault(event.topic, event.t_ns)

    @on(ReadBack)
    def read_back(self, event: ReadBack) -> None:
        self._held[event.topic] = event

    @on(Cursor)
    def cursor(self, event: Cursor) -> None:
        self._cursors.append(event)

    @on(Frame, "SEEK")
    def sought(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if session is not None:
            self._sought.add((session.topic, session.subscription))

    # --- who comes -------------------------------------------------------------------------------------------------

    def joined(self, group: Group, member: Member) -> None:
        self._began.setdefault(group, member.joined)
        self._loaded_ns.setdefault(group.topic, member.joined.t_ns)

    def sent(self, group: Group, member: Member, frame: Frame, position: Position) -> None:
        if member.served or group.kind not in IN_ORDER or not group.durable:
            return
        entry = self.tracker.stored_at.get((group.topic, *position))
        if entry is None or (group.topic, group.name) in self._sought:
            return
        self._judge_age(group, member, frame, entry)
        if frame.redelivery_count or group.acked or group.unacked or not self._from_the_beginning(group):
            return
        self._judge_missing(group, member, frame, entry)
        self._judge_kept(group, member, frame, entry)

    def _judge_missing(self, group: Group, member: Member, frame: Frame, first: Stored) -> None:
        """A new subscription begins with the first entry that somebody still needs, at the latest."""
        unloaded = self._unloaded.get(group.topic)
        for entry in self.tracker.stored[group.topic]:
            holder = next((other for other in self._others(group) if self._needs(other, entry)), None)
            if holder is None or self._is_old(entry, frame.t_ns):
                continue
            if entry.id.position < first.id.position:
                self.breach(
                    "deleted-too-early",
                    f"{group}: {member} came at {ms(member.joined.t_ns)} for everything from the beginning and was "
                    f"sent {_name(first)} first; {_name(entry)} is not acknowledged by subscription {holder.name}",
                    entry,
                    frame,
                )
            elif unloaded is not None and any(entry.id.position in acked for acked in unloaded.acked.values()):
                self.exercise(frame)
            return

    def _judge_kept(self, group: Group, member: Member, frame: Frame, first: Stored) -> None:
        """Without retention it does not begin with what all had acknowledged when the topic was unloaded."""
        unloaded = self._unloaded.get(group.topic)
        if unloaded is None or not self._retains_nothing(group.topic):
            return
        began_ns = self._began[group].t_ns
        if began_ns - self._loaded_ns.get(group.topic, began_ns) <= TOLERANCES["answer"].slack_ns:
            return
        log = self.tracker.stored[group.topic]
        gone = [entry for entry in log if unloaded.may_go(entry, log)]
        if first in gone:
            self.breach(
                "kept",
                f"{group}: {member} came at {ms(member.joined.t_ns)} and was sent {_name(first)}; every subscription "
                f"had acknowledged it when the topic was unloaded at {ms(unloaded.step.t_ns)}, and nothing is retained",
                first,
                unloaded.step,
                frame,
            )
        elif gone:
            self.exercise(frame)

    def _judge_age(self, group: Group, member: Member, frame: Frame, first: Stored) -> None:
        """Who comes back begins behind what has become too old meanwhile."""
        if not self._ttl_s(group.topic):
            return
        began_ns = self._began[group].t_ns
        if began_ns == member.joined.t_ns:
            return
        if self._is_old(first, member.joined.t_ns):
            if not self._is_due(first, member.joined.t_ns - began_ns):
                return
            self.breach(
                "not-expired",
                f"{group}: {member} came at {ms(member.joined.t_ns)} and was sent {_name(first)}, stored at "
                f"{ms(first.t_ns)} to live for {self._ttl_s(group.topic)} s",
                first,
                frame,
            )
        elif any(self._is_old(entry, member.joined.t_ns) for entry in self.tracker.stored[group.topic]):
            self.exercise(frame)

    # --- what is left ----------------------------------------------------------------------------------------------

    def finish(self) -> None:
        for cursor in self._cursors:
            held = self._held.get(cursor.topic)
            batched = any(entry.meta.messages > 1 for entry in self.tracker.stored.get(cursor.topic, ()))
            if held is not None and batched:
                self._judge_backlog(cursor, held)

    def _judge_backlog(self, cursor: Cursor, held: ReadBack) -> None:
        mark = (-1, -1) if cursor.mark_delete is None else cursor.mark_delete.position
        acked = {id.position for id in cursor.acked}
        left = [id for id in held.entries if id.position > mark and id.position not in acked]
        if cursor.backlog == len(left):
            return
        self.breach(
            "backlog-miscounted",
            f"subscription {cursor.subscription} of topic {cursor.topic} has a backlog of {cursor.backlog} as the "
            f"broker says, expected {len(left)}: the entries it has not acknowledged, a batch being one",
            cursor,
            held,
        )

    # --- inside ----------------------------------------------------------------------------------------------------

    def _others(self, group: Group) -> list[Group]:
        """The durable subscriptions that were there before this one."""
        return [
            other
            for other in self.groups.values()
            if other is not group and other.topic == group.topic and other.durable and other in self._began
        ]

    def _needs(self, group: Group, entry: Stored) -> bool:
        due = self._from_the_beginning(group) or self._began[group].t_ns < entry.t_ns
        return due and entry.id.position not in group.acked

    def _from_the_beginning(self, group: Group) -> bool:
        first = group.members[0].session.request
        return first.fields.get("initialPosition") == "Earliest"

    def _is_old(self, entry: Stored, now_ns: int) -> bool:
        """Whether it has been too old for certain, and the broker has looked since."""
        return self._is_due(entry, now_ns - entry.t_ns)

    def _is_due(self, entry: Stored, age_ns: int) -> bool:
        """The broker looks through subscriptions: one that is younger than that, it may not have seen."""
        ttl_s = self._ttl_s(entry.topic)
        due_ms = ttl_s * MS_PER_S + 2 * self._check_ms + TOLERANCES["answer"].slack_ms
        return ttl_s > 0 and age_ns > due_ms * MS

    def _ttl_s(self, topic: str) -> int:
        policies = self._policies.get(topic)
        return (policies.message_ttl_s or 0) if policies is not None else 0

    def _retains_nothing(self, topic: str) -> bool:
        policies = self._policies.get(topic)
        return policies is not None and policies.retention == Retention()


def _name(entry: Stored) -> str:
    return f"entry {entry.id.name}"
