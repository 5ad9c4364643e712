"""throttling.publish-rate-holds"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.holdings import Holding, HoldingsCheck, keeps_call_order
from assay_conformance.checks.lines import is_duplicate
from assay_conformance.checks.tolerance import TOLERANCES
from assay_conformance.checks.tracker import Operation
from assay_conformance.checks.worlds import Kind, Standing
from assay_conformance.ledger.pace import busiest
from assay_conformance.model.case import Topic
from assay_conformance.model.event import Event, Frame, Stored
from assay_conformance.model.policy import Rate
from assay_conformance.model.requirement import RequirementId
from assay_conformance.model.topic_names import base_topic
from assay_conformance.pulsar.checks.throttling._dispatches import NS_PER_S, unchanged_topics
from assay_conformance.pulsar.checks.throttling._read_ahead import READ_AHEAD_BYTES

RATE_ERROR = 1.1
LEAST_SHARE = 0.9
"""A publish rate is kept within ten percent, either way."""

LEAST_PERIODS = 10
"""Less than this tells nothing from below: a pause is rounded up to what the broker's timer can do."""

OWN_ERRORS = (
    "ChecksumError",
    "NotAllowedError",
    "ProducerFenced",
    "TopicTerminatedError",
    "TransactionConflict",
)
"""SEND_ERRORs that have a cause of their own, whatever the rate."""


class PublishRateHolds(HoldingsCheck):
    """A producer beyond the topic's publish rate is slowed down, and no further: no error, nothing lost, order kept."""

    requirement = RequirementId("throttling.publish-rate-holds")
    codes: ClassVar[dict[Kind, str]] = {Kind.LOST: "lost", Kind.DISORDER: "reordered"}

    def start(self) -> None:
        super().start()
        self._topics = {
            topic.name: topic
            for topic in unchanged_topics(self.view)
            if topic.publish_rate.messages and topic.persistent
        }
        self._stored: dict[str, list[Stored]] = {}
        topology = self.view.case.topology
        self._of_broker = topology.settings.publish_rate
        """The rate of all topics together, which can be told where one broker has them all."""
        self._is_shared = topology.brokers == 1 and self._of_broker.messages > 0
        self._all: list[Stored] = []
        self._undisturbed = not self.view.case.faults and not self.view.case.topology.settings.publish_rate.is_set

    def concerned(self) -> bool:
        return bool(self._topics) or self._is_shared

    def judges(self, holding: Holding) -> bool:
        """What came under an id that another message had may be a duplicate, and the rate has no part in it."""
        reuses_ids = holding.handle in self.tracker.lines.reuses_ids
        return holding.topic.name in self._topics and not reuses_ids and keeps_call_order(self, holding)

    def standing(self, holding: Holding, send: Operation) -> Standing:
        """One that was taken for a duplicate is not missed: that it was none is a matter of deduplication, where that
        is on."""
        if not holding.topic.deduplication:
            return super().standing(holding, send)
        unit = self.tracker.lines.by_message.get((holding.handle, send.invoke.number or 0))
        told = send.completion.message_id if send.completion is not None else None
        called_duplicate = unit is not None and any(map(is_duplicate, unit.receipts))
        if called_duplicate or (told is not None and told.is_duplicate_marker):
            return Standing.POSSIBLE
        return super().standing(holding, send)

    def exercised_by(self, holding: Holding) -> Iterator[Event]:
        for log in holding.logs.values():
            yield from (entry for _, entry in log[holding.topic.publish_rate.messages :])

    @on(Stored)
    def stored(self, event: Stored) -> None:
        if self._is_shared and not event.late:
            self._all.append(event)
        if base_topic(event.topic) in self._topics:
            self._stored.setdefault(event.topic, []).append(event)

    @on(Frame, "SEND_ERROR")
    def error(self, event: Frame) -> None:
        session = self.tracker.producer_of(event)
        if not event.from_sender or session is None or event.fields.get("error") in OWN_ERRORS:
            return
        topic = self._topics.get(base_topic(session.topic))
        if topic is not None and not topic.deduplication:
            self.breach(
                "answered-with-error",
                f"topic {topic.name} has a publish rate of {topic.publish_rate.messages} messages per "
                f"{topic.publish_rate.period_s} s; the SEND with sequence id {event.sequence_id} was answered by "
                f"{event.fields.get('error')} at {ms(event.t_ns)}, where the broker should only have read it later",
                event,
            )

    def finish(self) -> None:
        super().finish()
        if any(step.verb == "store_entries" for step in self.view.case.steps):
            return
        if self._all:
            self._speed("the broker", self._of_broker, self._all)
            for entry in self._all[self._of_broker.messages :]:
                self.exercise(entry)
        for name, entries in self._stored.items():
            topic = self._topics[base_topic(name)]
            self._speed(f"topic {topic.name}", topic.publish_rate, entries)
            if self._undisturbed and len(self._stored) == 1 and name == topic.name:
                self._judge_from_below(topic, entries)

    def _speed(self, who: str, rate: Rate, entries: Sequence[Stored]) -> None:
        """The fullest stretch holds the rate's share of it, the full bucket it began with, and what was read ahead."""
        per_ns = rate.messages * RATE_ERROR / (rate.period_s * NS_PER_S)
        counts = [entry.meta.messages for entry in entries]
        connections = max(1, len(self.tracker.opened))
        bytes_per_entry = max(1, sum(entry.size for entry in entries) // len(entries))
        entries_ahead = connections * (READ_AHEAD_BYTES // bytes_per_entry + 1)
        allowed = rate.messages * RATE_ERROR + (entries_ahead + 1) * max(counts)
        excess, first, last = busiest([entry.t_ns for entry in entries], counts, per_ns)
        if excess <= allowed:
            return
        start, end = entries[first], entries[last]
        if not self.tracker.load.quiet(start.t_ns, end.t_ns, TOLERANCES["rate"]):
            self.undecided("the machine was too busy to measure a publish rate")
            return
        self.breach(
            "too-fast",
            f"{who} has a publish rate of {rate.messages} messages per {rate.period_s} s; from "
            f"{ms(start.t_ns)} to {ms(end.t_ns)} {round(excess)} more were stored than that, where {round(allowed)} "
            "are the most",
            start,
            end,
        )

    def _judge_from_below(self, topic: Topic, entries: Sequence[Stored]) -> None:
        """Once the last message was asked for, one is waiting until it is stored. Of several topics one may stop what
        another's messages come by, what is a duplicate is not stored, and of two limits it is not told which one held:
        of these nothing is said."""
        rate = topic.publish_rate
        calls_ns = [send.invoke.t_ns for sends in self.tracker.sends.values() for send in sends]
        if not calls_ns or rate.bytes > 0 or topic.deduplication or len(self.view.case.topology.topics) > 1:
            return
        period_ns = rate.period_s * NS_PER_S
        began_ns = max(entries[0].t_ns, *calls_ns)
        periods = (entries[-1].t_ns - began_ns) // period_ns
        inside = [entry for entry in entries if began_ns < entry.t_ns <= began_ns + periods * period_ns]
        count, least = sum(entry.meta.messages for entry in inside), LEAST_SHARE * rate.messages * periods
        if periods < LEAST_PERIODS or count >= least:
            return
        if not self.tracker.load.quiet(began_ns, entries[-1].t_ns, TOLERANCES["rate"]):
            self.undecided("the machine was too busy to measure a publish rate")
            return
        self.breach(
            "starved",
            f"topic {topic.name} has a publish rate of {rate.messages} messages per {rate.period_s} s; in {periods} "
            f"periods from {ms(began_ns)} on {count} were stored, with more waiting all the while, where "
            f"{round(least)} are the least",
            entries[-1],
        )
