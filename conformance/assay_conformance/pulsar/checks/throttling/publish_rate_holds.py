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
from assay_conformance.pulsar.checks.throttling._read_ahead import READ_AHEAD_BYTES
from assay_conformance.pulsar.timeline.limiters import NS_PER_S, unchanged_topics

RATE_ERROR = 1.1
LEAST_SHARE = 0.9
"""A publish rate is kept within ten percent, in both directions."""

LEAST_PERIODS = 10
"""With fewer periods the lower bound is not judged: a pause is rounded up to the resolution of the broker's timer."""

OWN_ERRORS = (
    "ChecksumError",
    "NotAllowedError",
    "ProducerFenced",
    "TopicTerminatedError",
    "TransactionConflict",
)
"""SEND_ERRORs that have a cause other than the rate."""


class PublishRateHolds(HoldingsCheck):
    """A producer above the topic's publish rate is slowed down, and no more: no error, nothing lost, order kept."""

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
        """The rate of all topics together, which can be judged where one broker owns them all."""
        self._is_shared = topology.brokers == 1 and self._of_broker.messages > 0
        self._all: list[Stored] = []
        self._undisturbed = not self.view.case.faults and not self.view.case.topology.settings.publish_rate.is_set

    def concerned(self) -> bool:
        return bool(self._topics) or self._is_shared

    def judges(self, holding: Holding) -> bool:
        """A SEND with an id that was used before may be a duplicate, which has nothing to do with the rate."""
        reuses_ids = holding.handle in self.tracker.lines.reuses_ids
        return holding.topic.name in self._topics and not reuses_ids and keeps_call_order(self, holding)

    def standing(self, holding: Holding, send: Operation) -> Standing:
        """A message that the broker took for a duplicate is not expected: whether it was one is judged by
        deduplication."""
        if not holding.topic.deduplication:
            return super().standing(holding, send)
        unit = self.tracker.lines.by_message.get((holding.handle, send.invoke.number or 0))
        message_id = send.completion.message_id if send.completion is not None else None
        called_duplicate = unit is not None and any(map(is_duplicate, unit.receipts))
        if called_duplicate or (message_id is not None and message_id.is_duplicate_marker):
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
                f"{topic.publish_rate.period_s} s; expected the SEND with sequence id {event.sequence_id} to be read "
                f"later; it was answered by {event.fields.get('error')} at {ms(event.t_ns)}",
                event,
            )

    def finish(self) -> None:
        super().finish()
        if any(step.verb == "store_entries" for step in self.view.case.steps):
            return
        if self._all:
            self._judge_speed("the broker", self._of_broker, self._all)
            for entry in self._all[self._of_broker.messages :]:
                self.exercise(entry)
        for name, entries in self._stored.items():
            topic = self._topics[base_topic(name)]
            self._judge_speed(f"topic {topic.name}", topic.publish_rate, entries)
            if self._undisturbed and len(self._stored) == 1 and name == topic.name:
                self._judge_lower_bound(topic, entries)

    def _judge_speed(self, subject: str, rate: Rate, entries: Sequence[Stored]) -> None:
        """The busiest interval has no more than its share of the rate, one full bucket, and what was read ahead."""
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
            f"{subject} has a publish rate of {rate.messages} messages per {rate.period_s} s; expected at most "
            f"{round(allowed)} beyond that in any interval; from {ms(start.t_ns)} to {ms(end.t_ns)} {round(excess)} "
            "more were stored",
            start,
            end,
        )

    def _judge_lower_bound(self, topic: Topic, entries: Sequence[Stored]) -> None:
        """Judge from the last send call on, when messages are waiting until the last is stored. Not with several
        topics, of which one may stop the other's connection; nor with deduplication, where duplicates are not stored;
        nor with two limits, of which either may have applied."""
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
            f"topic {topic.name} has a publish rate of {rate.messages} messages per {rate.period_s} s, and messages "
            f"were waiting all the time; expected at least {round(least)} in {periods} periods from {ms(began_ns)} on; "
            f"{count} were stored",
            entries[-1],
        )
