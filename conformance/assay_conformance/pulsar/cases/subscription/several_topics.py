"""Consumers of several topics, by name or by a pattern."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from msgspec.structs import replace

from assay_conformance.cases.build import EARLIEST, STARVED_MS, Schedule, down, up
from assay_conformance.cases.stored import plains
from assay_conformance.model.case import Case, Topic, Topology
from assay_conformance.model.fault import AfterStep, AnswerError, Cut, Direction, Fault, Hold, Until
from assay_conformance.model.topic_names import part_names
from assay_conformance.pulsar.cases.ack.grouping import FLUSHED_MS, GROUPED

LOOK_AGAIN_MS = 1_000
"""Whole seconds: some clients accept no less."""
NEVER_MS = 60_000
WITHOUT_WATCHERS = 19
"""The last protocol version without them."""

NEWS = ("news-old", "news-idle", "news-new")
NAMES = Topology(topics=tuple(Topic(name=name) for name in (*NEWS, "sports")))
TWO = Topology(topics=(Topic(name="busy"), Topic(name="quiet")))


def _pattern(words: str, title: str, requirements: tuple[str, ...], again_ms: int, *capabilities: str) -> Case:
    """Subscribe to a pattern.

    Of the topics that match, one exists, one is created later, and one is not used; another one does not match.
    """
    plan = Schedule()
    # The topics of a Case exist from its beginning.
    plan.broker("delete", topic="news-new")
    client = plan.client()
    for topic in ("news-old", "sports"):
        plan.wait_ops(plan.send(plan.producer(client, topic), 3))
    consumer = plan.consumer(client, NEWS, pattern="news-.*")
    plan.wait_ops(plan.receive(consumer, 3, STARVED_MS))
    plan.wait_ops(plan.send(plan.producer(client, "news-new"), 3))
    plan.wait_ops(plan.receive(consumer, 3, 3 * LOOK_AGAIN_MS))
    return plan.case(
        f"subscription/{words}",
        title,
        requirements,
        capabilities=("producer", "consumer", *capabilities),
        topology=NAMES,
        consumer={**EARLIEST, "pattern_update_ms": again_ms},
    )


def _born_unwatched(words: str, title: str, fault: Callable[[int], Fault]) -> Case:
    """Create a matching topic and write to it while the consumer's watcher has no connection. `fault` gets the step
    that creates the topic.
    """
    plan = Schedule()
    plan.broker("delete", topic="news-new")
    client = plan.client()
    plan.wait_ops(plan.send(plan.producer(client, "news-old"), 3))
    # On a client of its own, so that a held or lost connection is only the watcher's.
    consumer = plan.consumer(plan.client(), NEWS, pattern="news-.*")
    plan.wait_fired(0)
    plan.wait_ops(plan.send(plan.producer(client, "news-new"), 3))
    born = plan.last
    plan.wait_ops(plan.receive(consumer, 6, STARVED_MS + 4 * LOOK_AGAIN_MS))
    return plan.case(
        f"subscription/{words}",
        title,
        ("subscription.pattern-finds-new-topics",),
        capabilities=("producer", "consumer", "topic_patterns", "topic_watcher"),
        topology=NAMES,
        consumer={**EARLIEST, "pattern_update_ms": LOOK_AGAIN_MS},
        faults=(fault(born),),
    )


def pattern_while_watcher_is_lost() -> Case:
    """Create the topic before the client has reconnected: later notifications do not name it."""
    plan = Schedule()
    plan.broker("delete", topic="news-new")
    plan.wait_ops(plan.send(plan.producer(plan.client(), "news-old"), 3))
    consumer = plan.consumer(plan.client(), NEWS, pattern="news-.*")
    plan.wait_ops(plan.receive(consumer, 3, STARVED_MS))
    plan.wait_ops(plan.ack(consumer))
    plan.wait_ms(FLUSHED_MS)
    lost = plan.last
    plan.wait_fired(0)
    plan.wait_ops(plan.send(plan.producer(plan.client(), "news-new"), 3))
    plan.wait_ops(plan.receive(consumer, 3, STARVED_MS + 4 * LOOK_AGAIN_MS))
    return plan.case(
        "subscription/pattern-while-watcher-is-lost",
        "All connections are lost, and a topic that matches a consumer's pattern is created before the consumer has "
        "reconnected",
        ("subscription.pattern-finds-new-topics",),
        capabilities=("producer", "consumer", "topic_patterns", "topic_watcher"),
        topology=NAMES,
        consumer={**EARLIEST, "pattern_update_ms": LOOK_AGAIN_MS},
        faults=(Fault(trigger=AfterStep(lost), action=Cut()),),
    )


def pattern_behind_a_failed_listing() -> Case:
    """Refuse one listing of the topics, of a broker that has no watchers, and create a topic after that."""
    plan = Schedule()
    plan.broker("delete", topic="news-new")
    client = plan.client()
    plan.wait_ops(plan.send(plan.producer(client, "news-old"), 3))
    consumer = plan.consumer(client, NEWS, pattern="news-.*")
    plan.wait_ops(plan.receive(consumer, 3, STARVED_MS))
    plan.wait_fired(0, deadline_ms=STARVED_MS + 2 * LOOK_AGAIN_MS)
    plan.wait_ms(LOOK_AGAIN_MS)
    plan.wait_ops(plan.send(plan.producer(client, "news-new"), 3))
    plan.wait_ops(plan.receive(consumer, 3, STARVED_MS + 3 * LOOK_AGAIN_MS))
    return plan.case(
        "subscription/pattern-behind-a-failed-listing",
        "A listing of the topics fails, and a topic that matches a consumer's pattern is created after that",
        ("subscription.pattern-finds-new-topics",),
        capabilities=("producer", "consumer", "topic_patterns"),
        topology=replace(NAMES, protocol_version=WITHOUT_WATCHERS),
        consumer={**EARLIEST, "pattern_update_ms": LOOK_AGAIN_MS},
        faults=(Fault(trigger=up("GET_TOPICS_OF_NAMESPACE", k=2), action=AnswerError("AuthorizationError")),),
    )


def _pattern_loses_topic(words: str, title: str, requirement: str, again_ms: int, *capabilities: str) -> Case:
    """Delete a topic to which a consumer of a pattern is subscribed; then create another one, and that one again."""
    plan = Schedule()
    plan.broker("delete", topic="news-new")
    sender, client = plan.client(), plan.client()
    plan.wait_ops(plan.send(plan.producer(sender, "news-old"), 3))
    consumer = plan.consumer(client, NEWS, pattern="news-.*")
    plan.wait_ops(plan.receive(consumer, 3, STARVED_MS))
    plan.broker("delete", topic="news-idle")
    plan.wait_ms(2 * LOOK_AGAIN_MS)
    for topic in ("news-new", "news-idle"):
        plan.wait_ops(plan.send(plan.producer(sender, topic), 3))
    plan.wait_ops(plan.receive(consumer, 6, STARVED_MS + 3 * LOOK_AGAIN_MS))
    return plan.case(
        f"subscription/{words}",
        title,
        (requirement,),
        capabilities=("producer", "consumer", *capabilities),
        topology=NAMES,
        consumer={**EARLIEST, "pattern_update_ms": again_ms},
    )


def pattern_closed_with_its_watcher() -> Case:
    """Close a consumer of a pattern, whose client has another one; then create a topic."""
    plan, client = Schedule.with_client()
    consumer, other = plan.consumer(client, NEWS, pattern="news-.*"), plan.consumer(client, "sports")
    plan.wait_frame("WATCH_TOPIC_LIST_SUCCESS", Direction.TO_CLIENT, deadline_ms=STARVED_MS)
    plan.wait_ops(plan.close(consumer))
    plan.wait_ms(STARVED_MS)
    plan.wait_ops(plan.send(plan.producer(client, "sports"), 2))
    plan.wait_ops(plan.receive(other, 2, STARVED_MS))
    return plan.case(
        "subscription/pattern-closed-with-its-watcher",
        "A consumer of a pattern is closed, and its client goes on",
        ("subscription.topic-list-watcher",),
        capabilities=("producer", "consumer", "topic_patterns", "topic_watcher"),
        topology=NAMES,
        consumer={**EARLIEST, "pattern_update_ms": NEVER_MS},
    )


def busy_and_quiet_topics() -> Case:
    plan = Schedule()
    plan.broker("store_entries", topic="busy", entries=plains(range(40)))
    plan.broker("store_entries", topic="quiet", entries=plains(range(40, 44)))
    consumer = plan.consumer(plan.client(), ("busy", "quiet"))
    for _ in range(22):
        plan.wait_ops(plan.receive(consumer, 2, STARVED_MS))
    plan.ack(consumer)
    plan.wait_ops()
    return plan.case(
        "subscription/busy-and-quiet-topics",
        "A consumer of two topics, with forty messages and four, and queues of five, receives two at a time",
        ("subscription.no-topic-starves",),
        topology=TWO,
        consumer={**EARLIEST, "receiver_queue_size": 5},
    )


def acks_on_two_topics() -> Case:
    plan = Schedule()
    plan.broker("store_entries", topic="busy", entries=plains(range(3)))
    plan.broker("store_entries", topic="quiet", entries=plains(range(3, 6)))
    consumer = plan.consumer(plan.client(), ("busy", "quiet"))
    plan.wait_ops(plan.receive(consumer, 6, STARVED_MS))
    plan.ack(consumer)
    plan.wait_ms(FLUSHED_MS)
    return plan.case(
        "subscription/acks-on-two-topics",
        "A consumer of two topics acknowledges three messages of each",
        ("subscription.acks-on-source-topic",),
        topology=TWO,
        consumer=GROUPED,
    )


class _Twice(NamedTuple):
    """A list that names a topic twice, with this number of `partitions`, and with a handler or without."""

    words: str
    what: str
    partitions: int = 0
    listener: bool = False

    @property
    def capabilities(self) -> tuple[str, ...]:
        needs = {"message_listener": self.listener, "partitioned_topics": self.partitions}
        return ("consumer", *(name for name, is_needed in needs.items() if is_needed))


_NAMED_TWICE = (
    _Twice("topic-named-twice", "The list of a consumer names two topics, one of them twice"),
    _Twice(
        "topic-named-twice-with-handler", "A consumer with a handler names two topics, one of them twice", listener=True
    ),
    _Twice("partitions-named-twice", "The list of a consumer names two topics, one of two partitions twice", 2),
)


def _named_twice(twice: _Twice) -> Case:
    plan = Schedule()
    for number, topic in enumerate(part_names("busy", range(twice.partitions))):
        plan.broker("store_entries", topic=topic, entries=plains(range(3 * number, 3 * number + 3)))
    plan.broker("store_entries", topic="quiet", entries=plains(range(9, 12)))
    consumer = plan.consumer(plan.client(), ("busy", "quiet", "busy"), listener=twice.listener)
    plan.wait_ops(plan.receive(consumer, 3 * max(1, twice.partitions) + 3, STARVED_MS))
    plan.wait_ops(plan.close(consumer))
    return plan.case(
        f"subscription/{twice.words}",
        f"{twice.what}; each holds three messages",
        ("subscription.topic-named-twice", "robustness.calls-do-not-hang"),
        topology=Topology(topics=(Topic(name="busy", partitions=twice.partitions), Topic(name="quiet"))),
        consumer=EARLIEST,
        capabilities=twice.capabilities,
    )


CASES = (
    _born_unwatched(
        "pattern-while-watcher-is-late",
        "A topic that matches a pattern is created before the broker gets WATCH_TOPIC_LIST, and is found",
        lambda born: Fault(trigger=up("WATCH_TOPIC_LIST"), action=Hold(overtake=True), until=Until(step=born)),
    ),
    _born_unwatched(
        "pattern-while-watcher-is-away",
        "A topic that matches a pattern is created while the watcher's connection is lost, and is found",
        lambda _born: Fault(trigger=down("WATCH_TOPIC_LIST_SUCCESS"), action=Cut()),
    ),
    pattern_while_watcher_is_lost(),
    pattern_behind_a_failed_listing(),
    *map(_named_twice, _NAMED_TWICE),
    _pattern(
        "pattern",
        "A topic that matches a pattern is created while a consumer of the pattern updates its topics once a second",
        ("subscription.pattern-finds-new-topics",),
        LOOK_AGAIN_MS,
        "topic_patterns",
    ),
    _pattern(
        "pattern-with-topic-watcher",
        "A topic that matches a pattern is created, and the consumer of the pattern would find it only after a minute",
        ("subscription.topic-list-watcher", "subscription.pattern-finds-new-topics"),
        NEVER_MS,
        "topic_patterns",
        "topic_watcher",
    ),
    _pattern_loses_topic(
        "pattern-loses-topic",
        "A topic that matches a pattern is deleted; then another one is created, and the same one again",
        "subscription.pattern-finds-new-topics",
        LOOK_AGAIN_MS,
        "topic_patterns",
    ),
    _pattern_loses_topic(
        "pattern-with-topic-watcher-loses-topic",
        "A topic that a watched pattern matches is deleted; then another one is created, and the same one again",
        "subscription.topic-list-watcher",
        NEVER_MS,
        *("topic_patterns", "topic_watcher"),
    ),
    pattern_closed_with_its_watcher(),
    busy_and_quiet_topics(),
    acks_on_two_topics(),
)
