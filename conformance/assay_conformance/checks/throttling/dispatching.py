"""What a broker dispatches, limiter by limiter.

A limiter is that of a topic, or of one of its subscriptions; what a Case changes with set_policy is not judged.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from assay_conformance.checks.base import Check, View, on
from assay_conformance.checks.tolerance import MS, TOLERANCES
from assay_conformance.model.case import Rate, Topic, Who
from assay_conformance.model.event import Frame, MessageId, Meta, Stored

NS_PER_S = 1_000 * MS

READ_BATCH_ENTRIES = 100
"""dispatcherMaxReadBatchSize: one read takes no more."""


@dataclass(slots=True)
class Dispatches:
    """MESSAGEs that one limiter counts: those of a topic, or of one of its subscriptions."""

    what: str
    rate: Rate
    frames: list[Frame] = field(default_factory=list)
    messages: list[int] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    """Bytes of each entry as it is stored."""
    again: list[Frame] = field(default_factory=list)
    """Those that were dispatched before."""
    subscriptions: set[str] = field(default_factory=set)
    redelivered: bool = False
    _seen: set[tuple[str, MessageId]] = field(default_factory=set)

    @property
    def period_ns(self) -> int:
        return self.rate.period_s * NS_PER_S

    def add(self, frame: Frame, subscription: str, messages: int, size: int) -> None:
        self.frames.append(frame)
        self.messages.append(messages)
        self.sizes.append(size)
        self.subscriptions.add(subscription)
        self.redelivered = self.redelivered or bool(frame.redelivery_count)
        for id in frame.ids:
            if (subscription, id) in self._seen:
                self.again.append(frame)
            self._seen.add((subscription, id))

    @property
    def readers(self) -> int:
        """Who may read at the same time on what is left of the rate: each subscription, and its redeliveries."""
        return len(self.subscriptions) * (2 if self.redelivered else 1)


class DispatchCheck(Check):
    """Collects dispatches per limiter. What a Case changes with set_policy is not judged, nor a broker that spares
    consumers without a backlog."""

    def start(self) -> None:
        self._settings = self.view.case.topology.settings
        topics = unchanged_topics(self.view) if self._settings.throttles_caught_up else []
        self._topics = {topic.name: topic for topic in topics if _rates(topic)}
        self._limiters: dict[tuple[str, str], Dispatches] = {}
        self._sizes: dict[tuple[str, tuple[int, int]], int] = {}

    @on(Stored)
    def entry(self, event: Stored) -> None:
        if self._topics:
            self._sizes[event.topic, event.id.position] = event.size

    @on(Frame, "MESSAGE")
    def message(self, event: Frame) -> None:
        if not self._topics or not event.from_sender:
            return
        session = self.tracker.consumer_of(event)
        topic = None if session is None else self._topics.get(session.topic.partition("-partition-")[0])
        if session is None or topic is None:
            return
        size = self._sizes.get((session.topic, event.ids[0].position), 0) if event.ids else 0
        messages = 1 if self._settings.rate_counts_entries else messages_of(event.meta)
        for by_subscription, rate in _rates(topic):
            owner = session.subscription if by_subscription else ""
            self._limiter(session.topic, owner, rate).add(event, session.subscription, messages, size)

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


def unchanged_topics(view: View) -> list[Topic]:
    """The topology's topics but those whose policies a step changes."""
    changed = {
        step.args.get("topic") for step in view.case.steps if step.who is Who.BROKER and step.verb == "set_policy"
    }
    return [topic for topic in view.case.topology.topics if topic.name not in changed]


def _rates(topic: Topic) -> list[tuple[bool, Rate]]:
    """The rates that can be judged: False and the topic's, True and that of each of its subscriptions. One relative to
    what is published has no bound of its own."""
    given = [(False, topic.dispatch_rate), (True, topic.subscription_rate)]
    return [(own, rate) for own, rate in given if rate.limits and not rate.relative_to_publish]


def messages_of(meta: Meta | None) -> int:
    return 1 if meta is None or meta.batch is None else meta.batch
