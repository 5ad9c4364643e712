"""Partitions that are added to a topic: every producer and consumer of it finds them by itself."""

from __future__ import annotations

from dataclasses import dataclass, field

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.consumption import TimedCheck, late, to_client
from assay_conformance.checks.tolerance import MS
from assay_conformance.model.case import ConfigValue, Who
from assay_conformance.model.event import (
    AgentEnded,
    Closed,
    Completion,
    Ended,
    Event,
    Fired,
    Frame,
    Invoke,
    Outcome,
    Stepped,
)
from assay_conformance.model.requirement import RequirementId
from assay_conformance.model.topic_names import named_topics, partition_name
from assay_conformance.pulsar.checks.topics._shut_out import ShutOutCheck

_KEEPS_BACK = frozenset({"delay", "drop", "hold"})
"""Faults of frames behind which a request or its answer is late, or never comes."""

_ROLES = {"open_producer": "producer", "open_consumer": "consumer"}


@dataclass(slots=True)
class _Opened:
    """One producer or consumer of a topic that was open when it grew. `missing` are the partitions it has not got."""

    role: str
    grown: Stepped
    due_ns: int
    missing: dict[str, int] = field(default_factory=dict)


class FindsAddedPartitions(TimedCheck, ShutOutCheck):
    """Within one interval of looking for them. Judged of a topic with one producer, or one consumer, so that it is
    certain who registered; one that lost its connection meanwhile has other things to do, and what a fault keeps back
    is found late by anybody."""

    requirement = RequirementId("topics.finds-added-partitions")
    skips_plain = True

    def concerned(self) -> bool:
        """A broker that a publish rate stops from reading reads late that somebody asks for partitions."""
        return self.view.is_read_at_once()

    def start(self) -> None:
        self._open: dict[int, Invoke] = {}
        self._grown: dict[int, _Opened] = {}
        self._registering: dict[tuple[int, int], tuple[str, str]] = {}
        self._registered: set[tuple[str, str]] = set()

    @on(Completion, "open_producer", "open_consumer")
    def opened(self, event: Completion) -> None:
        operation = self.tracker.operations.get(event.op)
        if operation is not None and event.outcome is Outcome.OK and event.handle is not None:
            self._open[event.handle] = operation.invoke

    @on(Invoke, "close")
    def closes(self, event: Invoke) -> None:
        for handle, opening in list(self._open.items()):
            if event.handle in (handle, opening.args.get("client")):
                self._ends(handle, event)

    @on(AgentEnded)
    def died(self, event: AgentEnded) -> None:
        del event
        self._open.clear()
        self._grown.clear()

    @on(Closed)
    def connection_lost(self, event: Closed) -> None:
        del event
        self._grown.clear()

    @on(Fired)
    def kept_back(self, event: Fired) -> None:
        if event.action in _KEEPS_BACK:
            self._grown.clear()

    @on(Stepped)
    def stepped(self, event: Stepped) -> None:
        step = self.view.case.step(event.step)
        if step is None or event.skipped or step.who is not Who.BROKER or step.verb != "grow":
            return
        topic, partitions = str(step.args["topic"]), int(step.args["partitions"])
        grown = self.view.case.topology.named(topic)
        before = 0 if grown is None else grown.partitions
        for role in _ROLES.values():
            on_it = [handle for handle, opening in self._open.items() if self._uses(opening, role, topic)]
            if len(on_it) == 1 and before:
                self._expect(on_it[0], role, event, {partition_name(topic, n): n for n in range(before, partitions)})

    def _expect(self, handle: int, role: str, event: Stepped, missing: dict[str, int]) -> None:
        own: dict[str, ConfigValue] | None = self._open[handle].args.get("config")
        interval_ms = self.view.setting(role, "partitions_update_ms", own)
        if not interval_ms:
            return
        # A broker may be done long before the bench has heard of it.
        still = {name: number for name, number in missing.items() if (role, name) not in self._registered}
        if still:
            self._grown[handle] = _Opened(role, event, event.t_ns + int(interval_ms) * MS, still)
        else:
            self.exercise(event)

    @on(Frame, "PRODUCER", "SUBSCRIBE")
    def registers(self, event: Frame) -> None:
        role = "producer" if event.command == "PRODUCER" else "consumer"
        topic = self.tracker.local_topic(str(event.fields.get("topic", "")))
        if event.request_id is not None and event.from_sender:
            self._registering[event.conn, event.request_id] = (role, topic)

    @on(Frame, "PRODUCER_SUCCESS", "SUCCESS")
    def registered(self, event: Frame) -> None:
        # A frame that is held back is told of twice: when it is written, and when it comes.
        if not to_client(event):
            return
        role, topic = self._registering.pop((event.conn, event.request_id or 0), ("", ""))
        if not role:
            return
        self._registered.add((role, topic))
        for handle, opened in list(self._grown.items()):
            if opened.role == role and opened.missing.pop(topic, None) is not None and not opened.missing:
                del self._grown[handle]
                if late("answer", opened.due_ns, event.t_ns):
                    self._late(handle, opened, event, f"had the last of them only at {ms(event.t_ns)}")
                else:
                    self.exercise(event)

    @on(Frame, "ERROR")
    def refused(self, event: Frame) -> None:
        """Who is not let in does not have to come back."""
        if not to_client(event):
            return
        role, topic = self._registering.pop((event.conn, event.request_id or 0), ("", ""))
        for handle, opened in list(self._grown.items()):
            if opened.role == role and topic in opened.missing:
                del self._grown[handle]

    @on(Ended)
    def over(self, event: Ended) -> None:
        for handle in list(self._grown):
            self._ends(handle, event)

    def _ends(self, handle: int, event: Event) -> None:
        self._open.pop(handle, None)
        opened = self._grown.pop(handle, None)
        if opened is not None and not self.shut_out.keys().isdisjoint(opened.missing):
            return
        if opened is not None and late("answer", opened.due_ns, event.t_ns):
            self._late(handle, opened, event, f"had not all of them by {ms(event.t_ns)}")

    def _late(self, handle: int, opened: _Opened, event: Event, came: str) -> None:
        self.overdue(
            "answer",
            opened.due_ns,
            event.t_ns,
            "not-found",
            f"the topic of {opened.role} {handle} got more partitions at {ms(opened.grown.t_ns)}; it should have found "
            f"them by {ms(opened.due_ns)}, and {came}",
            opened.grown,
            event,
        )

    def _uses(self, opening: Invoke, role: str, topic: str) -> bool:
        names = named_topics(opening.args)
        return _ROLES.get(opening.verb) == role and topic in [self.tracker.local_topic(str(name)) for name in names]
