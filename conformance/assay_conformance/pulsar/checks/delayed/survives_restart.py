"""delayed.survives-restart"""

from __future__ import annotations

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.dispatches import Group, Member
from assay_conformance.checks.loading import Loads
from assay_conformance.model.event import Fired, Frame, Position, Stepped
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.delayed._due import WAITING_KINDS, DelayCheck, Due


class SurvivesRestart(DelayCheck):
    """Judged for entries that were stored before a topic was loaded again, and due after it, where no dispatch rate
    holds them back for longer."""

    requirement = RequirementId("delayed.survives-restart")

    def start(self) -> None:
        super().start()
        self._loads = Loads(self.view.case)
        self._reloads: list[Stepped | Fired] = []
        self._seen: dict[Group, set[Position]] = {}
        self._moved: set[tuple[str, str]] = set()
        """Subscriptions that were sought or deleted: what they have to get is judged elsewhere."""

    @on(Stepped)
    @on(Fired)
    def loaded(self, event: Stepped | Fired) -> None:
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
                    f"{group}: entry {due.name} was stored at {ms(due.stored.t_ns)} with a delivery time of "
                    f"{ms(due.at_ns)}, and the topic was loaded again at {ms(reload.t_ns)}; expected the entry at "
                    f"{waiting[0]}; it was never sent",
                    due.stored,
                    waiting[0].joined,
                )
                return

    def _could_take(self, member: Member, due: Due) -> bool:
        """Whether this consumer was attached, with permits, from the beginning until long after the delivery time."""
        request = member.session.request
        end = member.session.ended or member.left or self.end
        earliest = request.fields.get("initialPosition") == "Earliest"
        return end is not None and member.permits > 0 and earliest and end.t_ns > self.latest_ns(due)
