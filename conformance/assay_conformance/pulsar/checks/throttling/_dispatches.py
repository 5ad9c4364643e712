"""What a broker dispatches, limiter by limiter.

A limiter is that of a broker, of a topic or of one of its subscriptions; what a Case changes with set_policy is not
judged.
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
"""dispatcherMaxReadBatchSize: one read takes no more."""


@dataclass(frozen=True, slots=True)
class Level:
    """A rate that holds for a dispatch. `overrules`: a level further away sets another one of this kind. `shared`:
    other levels' rates hold for the same dispatch."""

    what: str
    rate: Rate
    overrules: bool = False
    shared: bool = False

    @property
    def is_plain(self) -> bool:
        """A period of a second, and no other level has a say."""
        return not self.overrules and not self.shared and self.rate.period_s == 1


@dataclass(slots=True)
class Dispatches:
    """MESSAGEs that one limiter counts: those of a broker, of a topic, or of one of its subscriptions."""

    level: Level
    frames: list[Frame] = field(default_factory=list)
    messages: list[int] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    """Bytes of each entry as it is stored."""
    began_ns: int = 0
    """When the first of its consumers asked to subscribe."""
    again: list[Frame] = field(default_factory=list)
    """Those that were dispatched before."""
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
    def readers(self) -> int:
        """Who may read at the same time on what is left of the rate: each subscription, and its redeliveries."""
        return len(self.subscriptions) * (2 if self.redelivered else 1)


class DispatchCheck(Check):
    """Collects dispatches per limiter. What a Case changes with set_policy is not judged, nor, but where that is what a
    check is about, a broker that spares consumers without a backlog."""

    spares_caught_up = False

    def start(self) -> None:
        topology = self.view.case.topology
        self.settings = topology.settings
        judged = self.spares_caught_up != self.settings.throttles_caught_up
        self._levels = {topic.name: _levels(self.view, topic) for topic in unchanged_topics(self.view) if judged}
        self._levels = {name: levels for name, levels in self._levels.items() if levels}
        self._loads = Loads(self.view.case)
        self.limiters: dict[tuple[str, int], Dispatches] = {}
        """By what they limit, and the load of its topic: whoever loads it begins with all tokens of a period."""
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
        """Whether this limiter is what the check is about."""
        return limiter.level.is_plain

    def judge(self, limiter: Dispatches) -> None:
        raise NotImplementedError

    def found(self, code: str, sentence: str, first: Frame, last: Frame, until_ns: int = 0) -> None:
        """A breach, if the machine was quiet and the broker this Case's alone, from `first` to `last`, or to `until_ns`
        where it is what did not come that is found.

        A stall squeezes periods together, and never apart. What a broker dispatches for other Cases meanwhile may be
        charged here: in Pulsar the dispatcher of one active consumer asks how many messages it sent when they are
        written, and its thread may have counted another topic's by then (SendMessageInfo is the thread's).
        """
        load, until_ns = self.tracker.load, max(last.t_ns, until_ns)
        if not load.quiet(first.t_ns, until_ns, TOLERANCES["rate"]):
            self.undecided("the machine was too busy to tell one period of a rate from the next")
        elif not load.alone(first.t_ns, until_ns):
            self.undecided("the broker served other Cases, too, and may have charged one with what another was sent")
        else:
            self.breach(code, sentence, first, last)

    def smallest(self, limiter: Dispatches) -> int:
        """The bytes of the smallest entry in the topics of this limiter."""
        topics = {topic for topic, _ in limiter.subscriptions}
        return max(1, min((size for (topic, _), size in self._sizes.items() if topic in topics), default=1))

    def units(self, messages: int) -> int:
        """What a rate counts of an entry that holds so many messages."""
        return 1 if self.settings.rate_counts_entries else messages

    def _limiter(self, kind: str, level: Level, topic: str, subscription: str) -> Dispatches:
        what = {
            "broker": "the broker",
            "topic": f"topic {topic}",
            "subscription": f"subscription {subscription} of topic {topic}",
        }[kind]
        return self.limiters.setdefault((what, self._loads.of(topic)), Dispatches(replace(level, what=what)))


def unchanged_topics(view: View) -> list[Topic]:
    """The topology's topics but those whose policies a step changes: their own, or those of their namespace."""
    changed = {
        step.args.get("topic") for step in view.case.steps if step.who is Who.BROKER and step.verb == "set_policy"
    }
    return [] if None in changed else [topic for topic in view.case.topology.topics if topic.name not in changed]


def _levels(view: View, topic: Topic) -> dict[str, Level]:
    """The rates that hold for a topic's dispatches and can be judged, by kind. One relative to what is published has no
    bound of its own, and which broker has a topic is known where there is one."""
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
