from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from assay_conformance.model.event import Frame
from assay_conformance.pulsar.timeline import Exercised, Says, ServedProducer, Timeline, breach, check, ms


class _Named(NamedTuple):
    """A producer that came without a name, an answer that names it, and those that had come before, by name."""

    producer: ServedProducer
    answer: Frame
    before: dict[str, ServedProducer]


def _named(timeline: Timeline) -> Iterator[_Named]:
    topics: dict[str, dict[str, ServedProducer]] = {}
    nameless = (one for one in timeline.served_producers if not one.request.fields.get("producer_name"))
    answers = ((answer, one) for one in nameless for answer in one.successes)
    for answer, one in sorted(answers, key=lambda pair: pair[0].seq):
        yield _Named(one, answer, topics.setdefault(one.topic, {}))
        topics[one.topic].setdefault(one.name, one)


@check("producer.assigned-names-unique", of=_named)
def assigned_names_unique(timeline: Timeline, named: _Named) -> Says:
    """producer.assigned-names-unique: producers that register on a topic without a name each get a different one,
    whether they are registered at the same time or not."""
    one, answer, before = named
    if before.keys() - {one.name}:
        yield Exercised(answer)
    other = before.get(one.name, one)
    if other is not one:
        yield breach(
            "given-twice",
            f"the producer that registered on {one.topic} without a name at {ms(one.request.t_ns)} got the name "
            f"{one.name}; expected a new one; another producer, registered at {ms(other.request.t_ns)}, had got it",
            *(other.request, answer),
        )
