"""Added partitions are found by every producer and consumer of the topic within one update interval."""

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
"""Faults that make a request or its answer late, or keep it back for good."""

_ROLES = {"open_producer": "producer", "open_consumer": "consumer"}


@dataclass(slots=True)
class _Opened:
    """A producer or consumer that was open when partitions were added. It has not registered with `missing` yet."""

    role: str
    grown: Stepped
    due_ns: int
    missing: dict[str, int] = field(default_factory=dict)


class FindsAddedPartitions(TimedCheck, ShutOutCheck):
    """Every added partition is registered with within one update interval.

    Judged for a topic with one producer or one consumer, so that it is certain which of them registered. Not judged
    after a lost connection (the client has to reconnect first) or a fault that delays or drops frames.
    """

    requirement = RequirementId("topics.finds-added-partitions")
    skips_plain = True

    def concerned(self) -> bool:
        """A broker that stops reading because of a publish rate reads the request for the partition count late."""
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
    def agent_ended(self, event: AgentEnded) -> None:
        del event
        self._open.clear()
        self._grown.clear()

    @on(Closed)
    def connection_lost(self, event: Closed) -> None:
        del event
        self._grown.clear()

    @on(Fired)
    def frames_delayed(self, event: Fired) -> None:
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
        # The broker may have finished long before the bench records the end of the step.
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
        # A frame that a fault holds is seen twice: when it is written, and when it arrives.
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
                    self._late(
                        handle, opened, event, f"it had registered with the last of them only at {ms(event.t_ns)}"
                    )
                else:
                    self.exercise(event)

    @on(Frame, "ERROR")
    def refused(self, event: Frame) -> None:
        """A consumer or producer that is refused does not have to try again."""
        if not to_client(event):
            return
        role, topic = self._registering.pop((event.conn, event.request_id or 0), ("", ""))
        for handle, opened in list(self._grown.items()):
            if opened.role == role and topic in opened.missing:
                del self._grown[handle]

    @on(Ended)
    def case_ended(self, event: Ended) -> None:
        for handle in list(self._grown):
            self._ends(handle, event)

    def _ends(self, handle: int, event: Event) -> None:
        self._open.pop(handle, None)
        opened = self._grown.pop(handle, None)
        if opened is not None and not self.shut_out.keys().isdisjoint(opened.missing):
            return
        if opened is not None and late("answer", opened.due_ns, event.t_ns):
            self._late(handle, opened, event, f"it had not registered with all of them by {ms(event.t_ns)}")

    def _late(self, handle: int, opened: _Opened, event: Event, came: str) -> None:
        self.overdue(
            "answer",
            opened.due_ns,
            event.t_ns,
            "not-found",
            f"partitions were added to the topic of {opened.role} {handle} at {ms(opened.grown.t_ns)}; expected it to "
            f"register with all of them by {ms(opened.due_ns)}, one update interval later; {came}",
            opened.grown,
            event,
        )

    def _uses(self, opening: Invoke, role: str, topic: str) -> bool:
        names = named_topics(opening.args)
        return _ROLES.get(opening.verb) == role and topic in [self.tracker.local_topic(str(name)) for name in names]
