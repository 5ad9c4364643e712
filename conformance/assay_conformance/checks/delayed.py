"""Delayed delivery: not before its time on Shared and Key_Shared subscriptions, at once on all others.

Times are the broker's, which is on the bench's machine: the wall clock of the beginning and the bench's own since then.
"""

from __future__ import annotations

from dataclasses import dataclass

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.dispatches import DispatchLedger, Group, Member
from assay_conformance.checks.flow.permits import charged
from assay_conformance.checks.loading import Loads
from assay_conformance.checks.occasions import Trait
from assay_conformance.checks.tolerance import MS, TOLERANCES, Tolerance
from assay_conformance.model.case import Topic
from assay_conformance.model.event import Began, Ended, Event, Fired, Frame, Position, Stepped, Stored
from assay_conformance.model.policy import DelayedDelivery
from assay_conformance.model.requirement import RequirementId
from assay_conformance.model.topic_names import base_topic

WAITING_KINDS = ("Shared", "Key_Shared")

OUT_OF_TURN_NS = 100 * MS
"""What is due together leaves in one read, in the order it was stored: only what is further apart has an order."""

TRACKED_MS = 1_000
"""delayedDeliveryTickTimeMillis as brokers come with it: how coarse times are kept, whatever tick a policy sets."""


@dataclass(frozen=True, slots=True)
class Due:
    """An entry, and when it may be delivered, on the bench's clock."""

    stored: Stored
    at_ns: int

    @property
    def name(self) -> str:
        return self.stored.id.name


class DelayCheck(DispatchLedger):
    """Knows of every stored entry when it is due; topics whose delayed delivery is off have none."""

    needs = (Trait.DELAYED,)

    def start(self) -> None:
        super().start()
        topology = self.view.case.topology
        self._unix_ms = 0
        self.end: Ended | None = None
        self.due: dict[tuple[str, Position], Due] = {}
        self._terms = {topic.name: self._terms_of(topic) for topic in topology.topics}
        self._is_strict = topology.settings.delayed_strict

    @on(Began)
    def began(self, event: Began) -> None:
        self._unix_ms = event.unix_ms

    @on(Ended)
    def ended(self, event: Ended) -> None:
        self.end = event

    @on(Stored)
    def stored(self, event: Stored) -> None:
        if event.meta.deliver_at_ms and self.terms(event.topic).active:
            due = Due(event, (event.meta.deliver_at_ms - self._unix_ms) * MS)
            self.due[event.topic, event.id.position] = due

    def terms(self, topic: str) -> DelayedDelivery:
        return self._terms.get(base_topic(topic), DelayedDelivery())

    def earliest_ns(self, due: Due) -> int:
        """When it may be delivered: at its time where that is strict, else a tick earlier."""
        early_ms = 0 if self._is_strict else self.terms(due.stored.topic).tick_ms
        return due.at_ns - early_ms * MS

    def latest_ns(self, due: Due) -> int:
        """When it has been delivered for certain, to somebody who can take it."""
        coarse_ms = max(self.terms(due.stored.topic).tick_ms, TRACKED_MS)
        return due.at_ns + 2 * coarse_ms * MS + TOLERANCES["answer"].slack_ns

    def quiet_or_undecided(self, start: Event, end: Event, tolerance: Tolerance) -> bool:
        if self.tracker.load.quiet(start.t_ns, end.t_ns, tolerance):
            return True
        self.undecided("the machine was too busy to tell what a message waited for")
        return False

    def _terms_of(self, topic: Topic) -> DelayedDelivery:
        return self.view.case.topology.policies_of(topic).delayed_delivery or DelayedDelivery()


class NotBeforeItsTime(DelayCheck):
    """Too early is too early by any clock. The order of what is due is judged where one consumer could take it all."""

    requirement = RequirementId("delayed.not-before-deliver-at-time")

    def start(self) -> None:
        super().start()
        self._sent: dict[Group, list[tuple[Due, Frame]]] = {}

    def sent(self, group: Group, member: Member, frame: Frame, position: Position) -> None:
        due = self.due.get((group.topic, position))
        if group.kind not in WAITING_KINDS or due is None:
            return
        earliest_ns = self.earliest_ns(due)
        if frame.t_ns < earliest_ns - TOLERANCES["nack-early"].slack_ns:
            self.breach(
                "early",
                f"{group}: entry {due.name} is due at {ms(due.at_ns)} and was sent to {member} at {ms(frame.t_ns)}, "
                f"where {ms(earliest_ns)} is the earliest",
                due.stored,
                frame,
            )
        elif due.stored.t_ns < earliest_ns:
            self.exercise(frame)
        if position not in group.unacked and position not in group.acked:
            self._in_turn(group, member, due, frame)

    def _in_turn(self, group: Group, member: Member, due: Due, frame: Frame) -> None:
        earlier = self._sent.setdefault(group, [])
        if any(other is due for other, _ in earlier):
            return  # It comes again, as to a group that a broker made anew.
        for other, before in earlier:
            passed = other.at_ns > due.at_ns and frame.t_ns - before.t_ns > OUT_OF_TURN_NS
            if not passed or due.stored.t_ns >= before.t_ns:
                continue
            # A broker that was kept from running finds them due together.
            if self.quiet_or_undecided(due.stored, frame, TOLERANCES["answer"]):
                self.breach(
                    "out-of-turn",
                    f"{group}: entry {due.name}, due at {ms(due.at_ns)}, was sent at {ms(frame.t_ns)}; {other.name}, "
                    f"due at {ms(other.at_ns)}, had been sent at {ms(before.t_ns)}",
                    before,
                    frame,
                )
                break
        if len(group.members) == 1 and member.permits > 1:
            earlier.append((due, frame))


class ActiveIgnoresDelay(DelayCheck):
    """Judged where an Exclusive consumer has had permits ever since the entry came: a Failover one may have to wait
    until it is the active one; a broker that a publish rate stops from reading has not read of the permits; and a rate
    of dispatch keeps entries back, whenever they are due."""

    requirement = RequirementId("delayed.ignored-on-exclusive-and-failover")

    def start(self) -> None:
        super().start()
        self._fed: dict[Member, Frame] = {}
        """Since which FLOW a consumer has had permits left."""
        self._stored_late: Due | None = None
        self._read_at_once = self.view.is_read_at_once()

    @on(Frame, "FLOW")
    def granted(self, event: Frame) -> None:
        member = self.member(event)[1]
        # Behind a batch of more messages than it had permits for, it has less than none.
        if member is not None and event.at_broker and member.permits > 0:
            self._fed.setdefault(member, event)

    def sent(self, group: Group, member: Member, frame: Frame, position: Position) -> None:
        due, fed = self.due.get((group.topic, position)), self._fed.get(member)
        if member.permits <= charged(frame):
            self._fed.pop(member, None)
        if group.kind in WAITING_KINDS or due is None or frame.redelivery_count:
            return
        if frame.t_ns < self.earliest_ns(due):
            self.exercise(frame)
            return
        if due.stored.t_ns >= self.earliest_ns(due):
            self._stored_late = due
        tolerance = TOLERANCES["answer"]
        if (
            group.kind != "Exclusive"
            or not self._read_at_once
            or not self.view.is_dispatched_at_once(group.topic)
            or fed is None
            or fed.t_ns > due.stored.t_ns
            or member.permits <= 0
        ):
            return
        waited = frame.t_ns - due.stored.t_ns > tolerance.slack_ns and position not in group.unacked
        if waited and self.quiet_or_undecided(due.stored, frame, tolerance):
            self.breach(
                "waited",
                f"{group}: entry {due.name} was stored at {ms(due.stored.t_ns)} and sent to {member} at "
                f"{ms(frame.t_ns)}, after its time of {ms(due.at_ns)}; here it should have been sent at once",
                due.stored,
                frame,
            )

    def finish(self) -> None:
        if self._stored_late is not None and not self.exercised:
            self.undecided(f"entry {self._stored_late.name} was stored so late that its time had come by then")


class SurvivesRestart(DelayCheck):
    """Of what was stored before a topic was loaded again and was due after it; where no rate of dispatch keeps it back
    for longer."""

    requirement = RequirementId("delayed.survives-restart")

    def start(self) -> None:
        super().start()
        self._loads = Loads(self.view.case)
        self._reloads: list[Stepped | Fired] = []
        self._seen: dict[Group, set[Position]] = {}
        self._moved: set[tuple[str, str]] = set()
        """Subscriptions that were told where to go on, or ended: what is owed to them is another matter."""

    @on(Stepped)
    @on(Fired)
    def happened(self, event: Stepped | Fired) -> None:
        topics = [topic.name for topic in self.view.case.topology.topics]
        before = [self._loads.of(topic) for topic in topics]
        if isinstance(event, Fired) or not event.skipped:
            self._loads.see(event)
        if before != [self._loads.of(topic) for topic in topics]:
            self._reloads.append(event)

    @on(Frame, "SEEK", "UNSUBSCRIBE")
    def moved(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if session is not None:
            self._moved.add((session.topic, session.subscription))

    def sent(self, group: Group, _member: Member, frame: Frame, position: Position) -> None:
        due = self.due.get((group.topic, position))
        if group.kind not in WAITING_KINDS or due is None:
            return
        self._seen.setdefault(group, set()).add(position)
        if any(due.stored.t_ns <= reload.t_ns < frame.t_ns for reload in self._reloads):
            self.exercise(frame)

    def finish(self) -> None:
        for group in self.groups.values():
            if group.kind in WAITING_KINDS and group.durable and (group.topic, group.name) not in self._moved:
                self._all_came(group)

    def _all_came(self, group: Group) -> None:
        at_once = self.view.is_dispatched_at_once(group.topic)
        seen = self._seen.get(group, set())
        for (topic, position), due in self.due.items():
            reload = next((reload for reload in self._reloads if due.stored.t_ns <= reload.t_ns < due.at_ns), None)
            if topic != group.topic or reload is None or position in seen or not at_once:
                continue
            waiting = [member for member in group.members if self._could_take(member, due)]
            if waiting:
                self.breach(
                    "lost",
                    f"{group}: entry {due.name} was stored at {ms(due.stored.t_ns)} for {ms(due.at_ns)}, the topic was "
                    f"loaded again at {ms(reload.t_ns)}, and {waiting[0]} was never sent it",
                    due.stored,
                    waiting[0].joined,
                )
                return

    def _could_take(self, member: Member, due: Due) -> bool:
        """Whether this consumer was there with permits from the beginning until long after the time."""
        request = member.session.request
        end = member.session.ended or member.left or self.end
        earliest = request.fields.get("initialPosition") == "Earliest"
        return end is not None and member.permits > 0 and earliest and end.t_ns > self.latest_ns(due)
