from __future__ import annotations

from collections.abc import Iterable, Sequence

from assay_conformance.pulsar.checks.routing._first_partition import begin_apart, first_messages
from assay_conformance.pulsar.timeline import Routed, Says, Timeline, check


def _in_turn(timeline: Timeline) -> Iterable[Sequence[Routed]]:
    return first_messages(timeline, lambda producer: producer.takes_turns(batching=False))


@check("routing.round-robin-random-start", of=_in_turn)
def round_robin_random_start(timeline: Timeline, messages: Sequence[Routed]) -> Says:
    """routing.round-robin-random-start: producers begin their turns at a random partition. Judged without batching: the
    windows of batches begin where the clock says."""
    yield from begin_apart(timeline, messages)
