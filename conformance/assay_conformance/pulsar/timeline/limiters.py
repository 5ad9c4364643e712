"""Rate limiters of brokers, and the messages that they passed.

A limiter belongs to a broker, a topic or one of its subscriptions. Policies that a Case changes with set_policy are
left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from assay_conformance.checks.base import View
from assay_conformance.checks.loading import Loads
from assay_conformance.history.events import Events, in_order
from assay_conformance.judging.tolerance import MS
from assay_conformance.model.case import Rate, Topic, Who
from assay_conformance.model.event import Fired, Frame, MessageId, Stepped, Stored
from assay_conformance.model.policy import Policies
from assay_conformance.model.topic_names import base_topic, is_partition
from assay_conformance.pulsar.timeline.consumers import ConsumerSession, ConsumerSessions

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
class Limiter:
    """A rate limiter of a broker, a topic, or one of its subscriptions, and the MESSAGEs that it counts, in order."""

    level: Level
    frames: list[Frame] = field(default_factory=list)
    messages: list[int] = field(default_factory=list)
    """What the rate counts of each."""
    sizes: list[int] = field(default_factory=list)
    """Bytes of each entry as it is stored."""
    smallest: int = 1
    """Bytes of the smallest entry in its topics."""
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


def limiters(view: View, events: Events, sessions: ConsumerSessions) -> list[Limiter]:
    """Return the limiters of all loads of topics: after a load the bucket has all tokens of a period again."""
    levels = {topic.name: of_topic for topic in unchanged_topics(view) if (of_topic := levels_of(view, topic))}
    return _Limiters(view, levels).through(events, sessions) if levels else []


class _Limiters:
    """One walk through what brokers stored and dispatched."""

    def __init__(self, view: View, levels: dict[str, dict[str, Level]]) -> None:
        self._view, self._levels = view, levels
        self._loads = Loads(view.case)
        self._found: dict[tuple[str, int], Limiter] = {}
        self._sizes: dict[tuple[str, tuple[int, int]], int] = {}
        self._smallest: dict[str, int] = {}

    def through(self, events: Events, sessions: ConsumerSessions) -> list[Limiter]:
        """Return the limiters with all messages that they passed."""
        seen: list[Stepped | Fired | Stored | Frame] = [*events.of(Stepped), *events.of(Fired), *events.of(Stored)]
        seen += [frame for frame in events.frames("MESSAGE") if frame.from_sender]
        for event in in_order(seen):
            if isinstance(event, Frame):
                session = sessions.of(event)
                if session is not None:
                    for kind, level in self._levels.get(base_topic(session.topic), {}).items():
                        self._add(kind, level, session, event)
            elif isinstance(event, Stored):
                self._sizes[event.topic, event.id.position] = event.size
                self._smallest[event.topic] = min(event.size, self._smallest.get(event.topic, event.size))
            else:
                self._loads.see(event)
        for limiter in self._found.values():
            smallest = (self._smallest.get(topic) for topic, _ in limiter.subscriptions)
            limiter.smallest = max(1, min((size for size in smallest if size is not None), default=1))
        return list(self._found.values())

    def _add(self, kind: str, level: Level, session: ConsumerSession, frame: Frame) -> None:
        topic, subscription = session.topic, session.subscription
        whose = f"subscription {subscription} of topic {topic}"
        what = {"broker": "the broker", "topic": f"topic {topic}", "subscription": whose}[kind]
        limiter = self._found.get((what, self._loads.of(topic)))
        if limiter is None:
            limiter = Limiter(replace(level, what=what), began_ns=session.request.t_ns)
            self._found[what, self._loads.of(topic)] = limiter
        size = self._sizes.get((topic, frame.ids[0].position), 0) if frame.ids else 0
        limiter.add(frame, topic, subscription, counted(self._view, frame.messages), size)


def counted(view: View, messages: int) -> int:
    """Return what a rate counts of an entry with this many messages."""
    return 1 if view.case.topology.settings.rate_counts_entries else messages


def unchanged_topics(view: View) -> list[Topic]:
    """Return the topics of the topology whose policies, and whose namespace's policies, no step changes."""
    changed = {
        step.args.get("topic") for step in view.case.steps if step.who is Who.BROKER and step.verb == "set_policy"
    }
    return [] if None in changed else [topic for topic in view.case.topology.topics if topic.name not in changed]


def levels_of(view: View, topic: Topic) -> dict[str, Level]:
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
