"""Partitions that a producer has found: what it is asked to send from then on is spread over them, too."""

from __future__ import annotations

from collections.abc import Iterator

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.consumption import TimedCheck, is_torn, late
from assay_conformance.checks.routes import CAME, LEFT
from assay_conformance.checks.tracker import Operation
from assay_conformance.model.event import AgentEnded, Closed, Frame, Note
from assay_conformance.model.hooks import ROUTER
from assay_conformance.model.payload import is_identified
from assay_conformance.model.requirement import RequirementId
from assay_conformance.model.topic_names import base_topic, partition_number
from assay_conformance.pulsar.checks.routing._routed import Routed, RoutingCheck

BY_CHANCE = 1e-9
"""How seldom keys that are spread over all partitions may be taken for keys that are not."""


class UsesAddedPartitions(RoutingCheck, TimedCheck):
    """Keys and turns reach them, and a router is told of them.

    A producer knows of them a while after the last of them has let it in; judged is what it is asked to send later. One
    that lost its connection meanwhile may not have read that it is in. Messages are taken in the order they were asked
    for, up to the first that never left: where that was to go nobody saw.
    """

    requirement = RequirementId("topics.uses-added-partitions")

    def start(self) -> None:
        steps, topics = self.view.case.steps, self.view.case.topology.topics
        deleted = {step.args.get("topic") for step in steps if step.verb == "delete"}
        counts = [(step.args["topic"], int(step.args["partitions"])) for step in steps if step.verb == "grow"]
        self._before = {
            topic.name: topic.partitions for topic in topics if topic.partitions and topic.name not in deleted
        }
        self._partitions = {
            name: max(count for grown, count in counts if grown == name)
            for name in self._before
            if any(grown == name for grown, _ in counts)
        }
        self._asking: dict[tuple[int, int], tuple[int, str]] = {}
        self._found: dict[int, set[int]] = {}
        self._known: dict[int, tuple[Frame, str]] = {}
        """Producer -> the answer with which it has all partitions, and its topic."""
        self._went: dict[tuple[int, int], Routed] = {}
        self._told: dict[tuple[int, int], Note] = {}

    def is_own(self, handle: int) -> bool:
        del handle
        return True

    def routed(self, message: Routed) -> None:
        self._went.setdefault((message.handle, message.number), message)

    @on(Frame, "PRODUCER", seen=LEFT)
    def registers(self, event: Frame) -> None:
        session = self.tracker.producer_of(event)
        if session is not None and session.line is not None and session.line.handle is not None:
            self._asking[event.conn, event.request_id or 0] = session.line.handle, session.topic

    @on(Frame, "PRODUCER_SUCCESS", seen=CAME)
    def registered(self, event: Frame) -> None:
        handle, partition = self._asking.pop((event.conn, event.request_id or 0), (0, ""))
        topic = base_topic(partition)
        if topic not in self._partitions or is_torn(event) or event.fields.get("producer_ready") is False:
            return
        found = self._found.setdefault(handle, set())
        found.add(partition_number(partition))
        if handle not in self._known and found >= set(range(self._before[topic], self._partitions[topic])):
            self._known[handle] = event, topic

    @on(Frame, "PARTITIONED_METADATA_RESPONSE", seen=CAME)
    def counted(self, event: Frame) -> None:
        if event.intact is False:
            self._partitions.clear()

    @on(Closed)
    def connection_lost(self, event: Closed) -> None:
        self._found.clear()
        for handle, (frame, _) in list(self._known.items()):
            if not late("answer", frame.t_ns, event.t_ns):
                del self._known[handle]

    @on(AgentEnded)
    def died(self, event: AgentEnded) -> None:
        del event
        self._found.clear()
        self._known.clear()

    @on(Note)
    def noted(self, event: Note) -> None:
        if event.text == ROUTER and event.handle is not None:
            self._told.setdefault((event.handle, int(event.values["number"])), event)

    def finish(self) -> None:
        for handle, (known, topic) in self._known.items():
            count = self._partitions.get(topic)
            if count is None or handle in self.tracker.lines.burst:
                continue
            if self.view.producer_setting(handle, "router") is not None:
                self._router(handle, known, count)
                continue
            self._keys(handle, known, self._before[topic], count)
            if self._takes_turns(handle):
                self._turns(handle, known, self._before[topic], count)
        super().finish()

    def _takes_turns(self, handle: int) -> bool:
        setting = self.view.producer_setting
        return setting(handle, "routing") == "round_robin" and setting(handle, "batching") is False

    def _asked_later(self, handle: int, known: Frame) -> Iterator[Operation]:
        sends = self.tracker.sends.get(handle, ())
        return (send for send in sends if late("answer", known.t_ns, send.invoke.t_ns))

    def _router(self, handle: int, known: Frame, count: int) -> None:
        for send in self._asked_later(handle, known):
            note = self._told.get((handle, send.invoke.number or 0))
            if note is None or not is_identified(send.invoke.size):
                continue
            self.exercise(note)
            if note.values["partitions"] != count:
                self._blame(
                    "router-told-otherwise",
                    f"for message {send.invoke.number} its router was told of {note.values['partitions']}",
                    handle,
                    known,
                    send,
                    count,
                )
                return

    def _keys(self, handle: int, known: Frame, before: int, count: int) -> None:
        seen = self._leaving(handle, known, keyed=True)
        keys = len({message.key for message in seen})
        if (before / count) ** keys < BY_CHANCE:
            self._unused(f"{keys} different keys", seen, handle, known, before)

    def _turns(self, handle: int, known: Frame, before: int, count: int) -> None:
        seen = self._leaving(handle, known, keyed=False)
        if len(seen) >= count:
            self._unused(f"{len(seen)} messages without a key, by turns,", seen, handle, known, before)

    def _leaving(self, handle: int, known: Frame, *, keyed: bool) -> list[Routed]:
        seen = []
        for send in self._asked_later(handle, known):
            if (send.invoke.args.get("key") is not None) is not keyed:
                continue
            message = self._went.get((handle, send.invoke.number or 0))
            if message is None:
                break
            seen.append(message)
        return seen

    def _unused(self, what: str, seen: list[Routed], handle: int, known: Frame, before: int) -> None:
        self.exercise(seen[-1].frame)
        if all(message.partition < before for message in seen):
            went = f"{what} all went to the first {before} partitions"
            self._blame("unused", went, handle, known, seen[0].send, seen[0].partitions)

    def _blame(self, code: str, what: str, handle: int, known: Frame, send: Operation, count: int) -> None:
        self.overdue(
            "answer",
            known.t_ns,
            send.invoke.t_ns,
            code,
            f"producer {handle} was let in by the last of {count} partitions at {ms(known.t_ns)}; of what it was asked "
            f"to send from {ms(send.invoke.t_ns)} on, {what}",
            known,
            send.invoke,
        )
