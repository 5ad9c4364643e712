"""What a call over several topics consists of, and when it ended.

A producer has its partitions; a consumer has its partitions, the topics of its list or pattern, and its retry letter
topic, which no step names. Such a call ends when all its parts have, or with the first one that failed: what became of
one part does not say why the call ended.
"""

from __future__ import annotations

from assay_conformance.checks.base import View
from assay_conformance.checks.consumption import in_force
from assay_conformance.checks.tracker import OpenedConsumer
from assay_conformance.model.event import Completion, ErrorClass, Invoke
from assay_conformance.model.topic_names import named_topics


def own_name(view: View, consumer: OpenedConsumer) -> str:
    """Return the default beginning of the names of a consumer's letter topics: a full name."""
    topic = consumer.topics[0] if consumer.topics else ""
    began = view.tracker.began
    return f"{topic if began is None else began.topics.get(topic, topic)}-{consumer.subscription}"


def retry_letter_topic(view: View, consumer: OpenedConsumer) -> str | None:
    """Return the full name of the retry letter topic that it also subscribes to; None where it has none."""
    if not consumer.topics or not in_force(view, consumer, "retry_letters"):
        return None
    return str(in_force(view, consumer, "retry_letter_topic") or f"{own_name(view, consumer)}-RETRY")


def topics_of(view: View, opening: Invoke) -> frozenset[str]:
    """Return the topics, partitions apart, that an open_producer or open_consumer looks up and registers with."""
    named = (str(name) for name in named_topics(opening.args))
    topics = {view.tracker.local_topic(name) for name in named}
    consumer = None if opening.handle is None else view.tracker.opened_consumers.get(opening.handle)
    letters = None if consumer is None else retry_letter_topic(view, consumer)
    return frozenset(topics if letters is None else {*topics, view.tracker.local_topic(letters)})


def takes_several(view: View, consumer: OpenedConsumer) -> bool:
    """Return whether its calls have several parts, partitions apart."""
    by_pattern = "pattern" in consumer.invoke.args
    return by_pattern or len(consumer.topics) != 1 or retry_letter_topic(view, consumer) is not None


def ended_by_client(end: Completion) -> bool:
    """Return whether the client ended the call by itself, and not because of a broker's answer.

    It rejected the configuration, or the application closed the producer or consumer.
    """
    return end.error in (ErrorClass.INVALID_CONFIG, ErrorClass.CLOSED)
