"""The last sequence ids that brokers named: a producer that is there already is answered again, without one."""

from __future__ import annotations

from typing import NamedTuple

from assay_conformance.model.event import Frame
from assay_conformance.pulsar.checks.dedup._deduplication import Name, last_sequence_id
from assay_conformance.pulsar.timeline import ServedProducer, Timeline


class LastId(NamedTuple):
    """A PRODUCER_SUCCESS that names one; NO_SEQUENCE_ID where the name has none."""

    name: Name
    id: int
    event: Frame


def last_ids(timeline: Timeline) -> list[LastId]:
    """Return the last id of every producer that was new when its broker got its PRODUCER, in order of the answers."""
    found, there = list[LastId](), dict[tuple[int, int], ServedProducer]()
    for one in timeline.served_producers:
        before, admitted = there.get(one.place), one.admitted
        ended = before.first_end(before.refusal) if before is not None else None
        if before is None or (ended is not None and ended.seq < one.request.seq):
            there[one.place] = one
            if admitted is not None and one.refusal is None:
                name = (one.topic, str(admitted.fields.get("producer_name")))
                found.append(LastId(name, last_sequence_id(admitted), admitted))
    return sorted(found, key=lambda one: one.event.seq)
