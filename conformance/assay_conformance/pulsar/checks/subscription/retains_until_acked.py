"""A topic keeps what a durable subscription has not acknowledged, and, without retention, nothing else."""

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
    """A topic was unloaded, so its ledger is closed and may be deleted. `acked`: what each subscription had
    acknowledged."""

    step: Stepped
    acked: dict[Group, frozenset[Position]]

    def may_go(self, entry: Stored, log: Iterable[Stored]) -> bool:
        """Whether every subscription had acknowledged its whole ledger (entries are deleted by ledger)."""
        stored = [other.id for other in log if other.t_ns <= self.step.t_ns]
        ledger = {id.position for id in stored if id.ledger == entry.id.ledger}
        return entry.t_ns < self.step.t_ns and all(ledger <= acked for acked in self.acked.values())


class RetainsUntilAcked(DispatchLedger):
    """Judged by the first entry that a subscription gets in order, when it is new or its consumer comes back.

    Time to live is judged once it and the broker's check interval are over. Deletion is judged where nothing is
    retained, some time after the topic was loaded again: brokers delete in the background.
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
        """(topic, subscription) that were sought, and so begin elsewhere."""
        self._unloaded: dict[str, _Unloaded] = {}
        self._loaded_ns: dict[str, int] = {}
        """Topic -> the first sign that it was loaded after an unload."""
        self._stored_entries: dict[str, ReadBack] = {}
        self._cursors: list[Cursor] = []

    def shrinking(self) -> frozenset[object]:
        """Topics with a time to live are judged here."""
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
            # The consumers were closed with the topic, so one has registered again before the step ended.
            self._loaded_ns[topic] = event.t_ns

    @on(Stored)
    def entry(self, event: Stored) -> None:
        self._loaded_ns.setdefault(event.topic, event.t_ns)

    @on(ReadBack)
    def read_back(self, event: ReadBack) -> None:
        self._stored_entries[event.topic] = event

    @on(Cursor)
    def cursor(self, event: Cursor) -> None:
        self._cursors.append(event)

    @on(Frame, "SEEK")
    def sought(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if session is not None:
            self._sought.add((session.topic, session.subscription))

    # --- new consumers ----------------------------------------------------------------------------------------------

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
        """A new subscription begins no later than with the first entry that another one has not acknowledged."""
        unloaded = self._unloaded.get(group.topic)
        for entry in self.tracker.stored[group.topic]:
            holder = next((other for other in self._others(group) if self._has_not_acked(other, entry)), None)
            if holder is None or self._is_old(entry, frame.t_ns):
                continue
            if entry.id.position < first.id.position:
                self.breach(
                    "deleted-too-early",
                    f"{group}: {member} was admitted at {ms(member.joined.t_ns)} and begins at the earliest entry; "
                    f"expected {_name(entry)}, which subscription {holder.name} has not acknowledged, to be kept; it "
                    f"was sent {_name(first)} first",
                    entry,
                    frame,
                )
            elif unloaded is not None and any(entry.id.position in acked for acked in unloaded.acked.values()):
                self.exercise(frame)
            return

    def _judge_kept(self, group: Group, member: Member, frame: Frame, first: Stored) -> None:
        """Without retention it does not begin with an entry that all had acknowledged when the topic was unloaded."""
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
                f"{group}: {member} was admitted at {ms(member.joined.t_ns)} and was sent {_name(first)}; expected it "
                "to be deleted, since every subscription had acknowledged it when the topic was unloaded at "
                f"{ms(unloaded.step.t_ns)} and nothing is retained",
                first,
                unloaded.step,
                frame,
            )
        elif gone:
            self.exercise(frame)

    def _judge_age(self, group: Group, member: Member, frame: Frame, first: Stored) -> None:
        """A consumer that comes back begins after the entries that have expired meanwhile."""
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
                f"{group}: {member} was admitted at {ms(member.joined.t_ns)} and was sent {_name(first)}, stored at "
                f"{ms(first.t_ns)}; expected it to have expired after its time to live of {self._ttl_s(group.topic)} s",
                first,
                frame,
            )
        elif any(self._is_old(entry, member.joined.t_ns) for entry in self.tracker.stored[group.topic]):
            self.exercise(frame)

    # --- backlog ---------------------------------------------------------------------------------------------------

    def finish(self) -> None:
        for cursor in self._cursors:
            held = self._stored_entries.get(cursor.topic)
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
            f"the broker reports a backlog of {cursor.backlog} for subscription {cursor.subscription} of topic "
            f"{cursor.topic}; expected {len(left)}, the number of unacknowledged entries, in which a batch counts as "
            "one",
            cursor,
            held,
        )

    # --- helpers ---------------------------------------------------------------------------------------------------

    def _others(self, group: Group) -> list[Group]:
        """Return the durable subscriptions that existed before this one."""
        return [
            other
            for other in self.groups.values()
            if other is not group and other.topic == group.topic and other.durable and other in self._began
        ]

    def _has_not_acked(self, group: Group, entry: Stored) -> bool:
        due = self._from_the_beginning(group) or self._began[group].t_ns < entry.t_ns
        return due and entry.id.position not in group.acked

    def _from_the_beginning(self, group: Group) -> bool:
        first = group.members[0].session.request
        return first.fields.get("initialPosition") == "Earliest"

    def _is_old(self, entry: Stored, now_ns: int) -> bool:
        """Whether it has certainly expired, and the broker has checked since."""
        return self._is_due(entry, now_ns - entry.t_ns)

    def _is_due(self, entry: Stored, age_ns: int) -> bool:
        """The broker's check covers existing subscriptions: a younger one may not have been checked yet."""
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
