"""Throttling: how fast a broker hands out messages, and how it slows a producer down.

Dispatch: R tokens are added once a period, to R at most. A read needs one, takes at most as many entries as there are
tokens, and is charged afterwards with the messages inside, so a read can overdraw; the next periods repay that. Where a
period begins is the broker's secret: every bound here holds wherever it begins.
Publish: tokens flow in continuously, and the broker does not read on while it has none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from assay_conformance.checks.base import Check, View, ms, on
from assay_conformance.checks.holdings import Holding, HoldingsCheck, keeps_call_order
from assay_conformance.checks.tolerance import MS, TOLERANCES
from assay_conformance.checks.worlds import Kind
from assay_conformance.model.case import Rate, Topic, Who
from assay_conformance.model.event import Event, Frame, Meta, Stored
from assay_conformance.model.requirement import RequirementId

NS_PER_S = 1_000 * MS

READ_BATCH_ENTRIES = 100
"""dispatcherMaxReadBatchSize: one read takes no more."""

READ_AHEAD_BYTES = 256 * 1024
"""What a broker may have read from a socket before it stops reading."""

RATE_ERROR = 1.1
"""A publish rate is kept within ten percent."""

OWN_ERRORS = (
    "ChecksumError",
    "NotAllowedError",
    "ProducerFenced",
    "TopicTerminatedError",
    "TransactionConflict",
)
"""SEND_ERRORs that have a cause of their own, whatever the rate."""


@dataclass(slots=True)
class Dispatches:
    """MESSAGEs that one limiter counts: those of a topic, or of one of its subscriptions."""

    what: str
    rate: Rate
    frames: list[Frame] = field(default_factory=list)
    messages: list[int] = field(default_factory=list)
    subscriptions: set[str] = field(default_factory=set)
    redelivered: bool = False

    @property
    def period_ns(self) -> int:
        return self.rate.period_s * NS_PER_S

    def add(self, frame: Frame, subscription: str) -> None:
        self.frames.append(frame)
        self.messages.append(_messages(frame.meta))
        self.subscriptions.add(subscription)
        self.redelivered = self.redelivered or bool(frame.redelivery_count)


class DispatchCheck(Check):
    """Collects dispatches per limiter; what a Case changes with set_policy is not judged."""

    def start(self) -> None:
        self._topics = {topic.name: topic for topic in unchanged_topics(self.view) if _limits_dispatch(topic)}
        self._limiters: dict[tuple[str, str], Dispatches] = {}

    @on(Frame, "MESSAGE")
    def message(self, event: Frame) -> None:
        if not self._topics or not event.from_sender:
            return
        session = self.tracker.consumer_of(event)
        topic = None if session is None else self._topics.get(session.topic.partition("-partition-")[0])
        if session is None or topic is None:
            return
        if topic.dispatch_rate.messages:
            self._limiter(session.topic, "", topic.dispatch_rate).add(event, session.subscription)
        if topic.subscription_rate.messages:
            self._limiter(session.topic, session.subscription, topic.subscription_rate).add(event, session.subscription)

    def finish(self) -> None:
        for limiter in self._limiters.values():
            self.judge(limiter)

    def judge(self, limiter: Dispatches) -> None:
        raise NotImplementedError

    def found(self, code: str, sentence: str, first: Frame, last: Frame) -> None:
        """A breach, if the machine was quiet: a stall of the bench squeezes periods together, and never apart."""
        if self.tracker.load.quiet(first.t_ns, last.t_ns, TOLERANCES["rate"]):
            self.breach(code, sentence, first, last)
        else:
            self.undecided("the machine was too busy to tell one period of a rate from the next")

    def _limiter(self, topic: str, subscription: str, rate: Rate) -> Dispatches:
        known = self._limiters.get((topic, subscription))
        if known is None:
            what = f"subscription {subscription} of topic {topic}" if subscription else f"topic {topic}"
            known = self._limiters[topic, subscription] = Dispatches(what, rate)
        return known


class DispatchRateHolds(DispatchCheck):
    """In any k periods at most (k + 1) times the rate, and what one read may overdraw."""

    requirement = RequirementId("throttling.dispatch-rate-holds")

    def judge(self, limiter: Dispatches) -> None:
        rate, frames, messages = limiter.rate.messages, limiter.frames, limiter.messages
        total = 0
        for frame, count in zip(frames, messages, strict=True):
            total += count
            if total > rate:
                self.exercise(frame)
        readers = len(limiter.subscriptions) * (2 if limiter.redelivered else 1)
        overdraft = readers * (min(READ_BATCH_ENTRIES, rate) * max(messages) - 1)
        periods = -(-(frames[-1].t_ns - frames[0].t_ns + 1) // limiter.period_ns)
        for k in range(1, periods + 1):
            most, first, last = _busiest(frames, messages, k * limiter.period_ns)
            if most > (k + 1) * rate + overdraft:
                self.found(
                    "too-fast",
                    f"{limiter.what} has a rate of {rate} messages per {limiter.rate.period_s} s; {most} left from "
                    f"{ms(first.t_ns)} to {ms(last.t_ns)}, where {(k + 1) * rate + overdraft} are the most in {k} "
                    "period(s)",
                    first,
                    last,
                )
                return


class RepaysOvershoot(DispatchCheck):
    """After a read that overdrew, nothing leaves until the periods since then have paid for it.

    A read is what leaves within a tenth of a period. When one begins, the tokens there were at some earlier read (R at
    most) and those added since (one period's more than have passed) must exceed what has left since that read.
    Several subscriptions on one limiter may read side by side and are not judged.
    """

    requirement = RequirementId("throttling.repays-overshoot")

    def judge(self, limiter: Dispatches) -> None:
        if len(limiter.subscriptions) > 1 or limiter.redelivered:
            return
        rate = limiter.rate.messages
        reads = list(_reads(limiter))
        for place, (began, _) in enumerate(reads):
            since = 0
            if place and reads[place - 1][1] > rate:
                self.exercise(began)
            for earlier, count in reversed(reads[:place]):
                since += count
                passed = (began.t_ns - earlier.t_ns + limiter.period_ns // 8) // limiter.period_ns
                if since >= rate * (passed + 2):
                    self.found(
                        "not-repaid",
                        f"{limiter.what} has a rate of {rate} messages per {limiter.rate.period_s} s; {since} "
                        "left from "
                        f"{ms(earlier.t_ns)} on, and the next one already at {ms(began.t_ns)}, when no more than "
                        f"{rate * (passed + 2)} can have been allowed",
                        earlier,
                        began,
                    )
                    return


class PublishRateHolds(HoldingsCheck):
    """A producer beyond the topic's publish rate is slowed down: no error, nothing lost, order kept."""

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

    def judges(self, holding: Holding) -> bool:
        return holding.topic.name in self._topics and keeps_call_order(self, holding)

    def exercised_by(self, holding: Holding) -> Iterator[Event]:
        for log in holding.logs.values():
            yield from (entry for _, entry in log[holding.topic.publish_rate.messages :])

    @on(Stored)
    def stored(self, event: Stored) -> None:
        if event.topic.partition("-partition-")[0] in self._topics:
            self._stored.setdefault(event.topic, []).append(event)

    @on(Frame, "SEND_ERROR")
    def error(self, event: Frame) -> None:
        session = self.tracker.producer_of(event)
        if not event.from_sender or session is None or event.fields.get("error") in OWN_ERRORS:
            return
        topic = self._topics.get(session.topic.partition("-partition-")[0])
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
        for name, entries in self._stored.items():
            if not any(step.verb == "store_entries" for step in self.view.case.steps):
                self._speed(self._topics[name.partition("-partition-")[0]], entries)

    def _speed(self, topic: Topic, entries: Sequence[Stored]) -> None:
        """The fullest window holds the rate's share of it, the full bucket it began with, and what was read ahead."""
        rate = topic.publish_rate
        per_ns = rate.messages * RATE_ERROR / (rate.period_s * NS_PER_S)
        counts = [_messages(entry.meta) for entry in entries]
        connections = max(1, len(self.tracker.opened))
        bytes_per_entry = max(1, sum(entry.size for entry in entries) // len(entries))
        entries_ahead = connections * (READ_AHEAD_BYTES // bytes_per_entry + 1)
        allowed = rate.messages * RATE_ERROR + (entries_ahead + 1) * max(counts)
        least, start, total = 0.0, entries[0], 0
        for entry, count in zip(entries, counts, strict=True):
            earned = per_ns * (entry.t_ns - entries[0].t_ns)
            if total - earned < least:
                least, start = total - earned, entry
            total += count
            if total - earned - least > allowed:
                if not self.tracker.load.quiet(start.t_ns, entry.t_ns, TOLERANCES["rate"]):
                    self.undecided("the machine was too busy to measure a publish rate")
                    return
                self.breach(
                    "too-fast",
                    f"topic {topic.name} has a publish rate of {rate.messages} messages per {rate.period_s} s; from "
                    f"{ms(start.t_ns)} to {ms(entry.t_ns)} {round(total - earned - least)} more were stored than that, "
                    f"where {round(allowed)} are the most",
                    start,
                    entry,
                )
                return


def unchanged_topics(view: View) -> list[Topic]:
    """The topology's topics but those whose policies a step changes."""
    changed = {
        step.args.get("topic") for step in view.case.steps if step.who is Who.BROKER and step.verb == "set_policy"
    }
    return [topic for topic in view.case.topology.topics if topic.name not in changed]


def _limits_dispatch(topic: Topic) -> bool:
    return bool(topic.dispatch_rate.messages or topic.subscription_rate.messages)


def _messages(meta: Meta | None) -> int:
    return 1 if meta is None or meta.batch is None else meta.batch


def _busiest(frames: Sequence[Frame], messages: Sequence[int], window_ns: int) -> tuple[int, Frame, Frame]:
    """The most messages in any window of this length, and its first and last frame."""
    most, inside, start = 0, 0, 0
    first = last = frames[0]
    for place, frame in enumerate(frames):
        inside += messages[place]
        while frame.t_ns - frames[start].t_ns >= window_ns:
            inside -= messages[start]
            start += 1
        if inside > most:
            most, first, last = inside, frames[start], frame
    return most, first, last


def _reads(limiter: Dispatches) -> Iterator[tuple[Frame, int]]:
    """Reads as far as they can be told apart: what left within a tenth of a period, and how many messages it was."""
    began, count = limiter.frames[0], 0
    for frame, messages in zip(limiter.frames, limiter.messages, strict=True):
        if frame.t_ns - began.t_ns > limiter.period_ns // 10:
            yield began, count
            began, count = frame, 0
        count += messages
    yield began, count
