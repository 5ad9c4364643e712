"""What a broker dispatches, by rate limiter.

A limiter belongs to a broker, a topic or one of its subscriptions. What a Case changes with set_policy is not judged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from assay_conformance.checks.base import Check, View, on
from assay_conformance.checks.loading import Loads
from assay_conformance.checks.tolerance import MS, TOLERANCES
from assay_conformance.model.case import Rate, Topic, Who
from assay_conformance.model.event import Fired, Frame, MessageId, Stepped, Stored
from assay_conformance.model.policy import Policies
from assay_conformance.model.topic_names import base_topic, is_partition

NS_PER_S = 1_000 * MS

READ_BATCH_ENTRIES = 100
"""dispatcherMaxReadBatchSize: the most entries of one read."""


@dataclass(frozen=True, slots=True)
class Level:
    """A rate that limits a dispatch. `overrules`: a more general level sets a different rate of this kind. `shared`:
    rates of other levels limit the same dispatch."""

    what: str
    rate: Rate
    overrules: bool = False
    shared: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether it has a period of a second, and no other level is involved."""
        return not self.overrules and not self.shared and self.rate.period_s == 1


@dataclass(slots=True)
class Dispatches:
    """MESSAGEs that one limiter counts: those of a broker, a topic, or one of its subscriptions."""

    level: Level
    frames: list[Frame] = field(default_factory=list)
    messages: list[int] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    """Bytes of each entry as it is stored."""
    began_ns: int = 0
    """When the first of its consumers subscribed."""
    again: list[Frame] = field(default_factory=list)
    """Those that had been dispatched before."""
    subscriptions: set[tuple[str, str]] = field(default_factory=set)
    redelivered: bool = False
    _seen: set[tuple[str, str, MessageId]] = field(default_factory=set)

    @property
    def what(self) -> str:
        return self.level.what

    @property
    def rate(self) -> Rate:
        return self.level.rate

    @property
    def period_ns(self) -> int:
        return self.rate.period_s * NS_PER_S

    def add(self, frame: Frame, topic: str, subscription: str, messages: int, size: int) -> None:
        self.frames.append(frame)
        self.messages.append(messages)
        self.sizes.append(size)
        self.subscriptions.add((topic, subscription))
        self.redelivered = self.redelivered or bool(frame.redelivery_count)
        for id in frame.ids:
            if (topic, subscription, id) in self._seen:
                self.again.append(frame)
            self._seen.add((topic, subscription, id))

    @property
    def is_partition(self) -> bool:
        return all(is_partition(topic) for topic, _ in self.subscriptions)

    @property
    def concurrent_reads(self) -> int:
        """How many readers may use the rest of the rate at the same time: each subscription, and its redeliveries."""
        return len(self.subscriptions) * (2 if self.redelivered else 1)


class DispatchCheck(Check):
    """Collects dispatches by limiter. Not judged are rates that a Case changes with set_policy, nor (except by the
    check about it) a broker that does not throttle consumers without a backlog."""

    exempts_caught_up = False

    def start(self) -> None:
        topology = self.view.case.topology
        self.settings = topology.settings
        judged = self.exempts_caught_up != self.settings.throttles_caught_up
        self._levels = {topic.name: _levels(self.view, topic) for topic in unchanged_topics(self.view) if judged}
        self._levels = {name: levels for name, levels in self._levels.items() if levels}
        self._loads = Loads(self.view.case)
        self.limiters: dict[tuple[str, int], Dispatches] = {}
        """By what they limit and the load of the topic: after a load the bucket has all tokens of a period again."""
        self._sizes: dict[tuple[str, tuple[int, int]], int] = {}

    def concerned(self) -> bool:
        return bool(self._levels)

    @on(Stepped)
    @on(Fired)
    def loaded(self, event: Stepped | Fired) -> None:
        self._loads.see(event)

    @on(Stored)
    def entry(self, event: Stored) -> None:
        self._sizes[event.topic, event.id.position] = event.size

    @on(Frame, "MESSAGE")
    def message(self, event: Frame) -> None:
        if not event.from_sender:
            return
        session = self.tracker.consumer_of(event)
        levels = {} if session is None else self._levels.get(base_topic(session.topic), {})
        if session is None or not levels:
            return
        size = self._sizes.get((session.topic, event.ids[0].position), 0) if event.ids else 0
        messages = self.units(event.messages)
        for kind, level in levels.items():
            limiter = self._limiter(kind, level, session.topic, session.subscription)
            if not limiter.frames:
                limiter.began_ns = session.request.t_ns
            limiter.add(event, session.topic, session.subscription, messages, size)

    def finish(self) -> None:
        for limiter in self.limiters.values():
            if self.judges(limiter):
                self.judge(limiter)

    def judges(self, limiter: Dispatches) -> bool:
        """Whether this limiter is judged by this check."""
        return limiter.level.is_plain

    def judge(self, limiter: Dispatches) -> None:
        raise NotImplementedError

    def report(self, code: str, sentence: str, first: Frame, last: Frame, until_ns: int = 0) -> None:
        """Report a breach, if the machine was quiet and the broker served this Case only, from `first` to `last`, or to
        `until_ns` where something that did not come is reported.

        A stall may move dispatches of two periods together, never apart. What a broker dispatches for other Cases
        meanwhile may be charged here: in Pulsar the dispatcher of one active consumer reads the number of sent messages
        when they are written, and by then its thread may have counted another topic's (SendMessageInfo is a thread
        local).
        """
        load, until_ns = self.tracker.load, max(last.t_ns, until_ns)
        if not load.quiet(first.t_ns, until_ns, TOLERANCES["rate"]):
            self.undecided("the machine was too busy to separate one period of a rate from the next")
        elif not load.alone(first.t_ns, until_ns):
            self.undecided("the broker served other Cases, too, and may have charged this one for their messages")
        else:
            self.breach(code, sentence, first, last)

    def smallest(self, limiter: Dispatches) -> int:
        """Return the bytes of the smallest entry in the topics of this limiter."""
        topics = {topic for topic, _ in limiter.subscriptions}
        return max(1, min((size for (topic, _), size in self._sizes.items() if topic in topics), default=1))

    def units(self, messages: int) -> int:
        """Return what a rate counts for an entry with this many messages."""
        return 1 if self.settings.rate_counts_entries else messages

    def _limiter(self, kind: str, level: Level, topic: str, subscription: str) -> Dispatches:
        what = {
            "broker": "the broker",
            "topic": f"topic {topic}",
            "subscription": f"subscription {subscription} of topic {topic}",
        }[kind]
        return self.limiters.setdefault((what, self._loads.of(topic)), Dispatches(replace(level, what=what)))


def unchanged_topics(view: View) -> list[Topic]:
    """Return the topics of the topology whose policies, and whose namespace's policies, no step changes."""
    changed = {
        step.args.get("topic") for step in view.case.steps if step.who is Who.BROKER and step.verb == "set_policy"
    }
    return [] if None in changed else [topic for topic in view.case.topology.topics if topic.name not in changed]


def _levels(view: View, topic: Topic) -> dict[str, Level]:
    """Return the rates that limit a topic's dispatches and can be judged, by kind. A rate relative to the publish rate
    has no bound of its own, and the owner of a topic is known only where there is one broker."""
    topology = view.case.topology
    held = topology.policies_of(topic)
    nearness = (topic, topology.namespace, topology.settings.policies)
    rates = {
        "broker": topology.settings.dispatch_rate,
        "topic": held.dispatch_rate,
        "subscription": held.subscription_rate,
    }
    limiting = {kind: rate for kind, rate in rates.items() if rate is not None and rate.limits}
    return {
        kind: Level(kind, rate, overrules=_overrules(kind, rate, nearness), shared=len(limiting) > 1)
        for kind, rate in limiting.items()
        if not rate.relative_to_publish and (kind != "broker" or topology.brokers == 1)
    }


def _overrules(kind: str, rate: Rate, nearness: Sequence[Policies]) -> bool:
    name = {"topic": "dispatch_rate", "subscription": "subscription_rate"}.get(kind)
    given = [getattr(policies, name) for policies in nearness] if name else []
    return any(other is not None and other.is_set and other != rate for other in given)
