from __future__ import annotations

from collections.abc import Iterator

from assay_conformance.pulsar.timeline import Exercised, Leaving, Says, Timeline, breach, check, ms


def _limit(timeline: Timeline, handle: int) -> int:
    return int(timeline.view.producer_setting(handle, "max_pending_messages") or 0)


def _at_the_limit(timeline: Timeline) -> Iterator[Leaving]:
    for handle in timeline.openings:
        limit = _limit(timeline, handle)
        if limit and len(timeline.sends_of(handle)) >= limit:
            yield from (leaving for leaving in timeline.leaving(handle) if leaving.pending >= limit)


@check("flow.max-pending-messages", of=_at_the_limit)
def max_pending_messages(timeline: Timeline, leaving: Leaving) -> Says:
    """flow.max-pending-messages: a producer has no more messages without a receipt, on each partition, than its limit;
    batch members count one by one."""
    handle, count, limit = leaving.handle, leaving.pending, _limit(timeline, leaving.handle)
    timeline.check_receipts(handle, leaving.frame)
    if count == limit:
        yield Exercised(leaving.frame)
        return
    yield breach(
        "too-many-pending",
        f"producer {handle}: {count} messages on {leaving.unit.line.topic} were without a receipt at "
        f"{ms(leaving.frame.t_ns)}; expected at most {limit}, its max_pending_messages",
        *(next(leaving.in_flight.sends(handle)).invoke, leaving.frame),
    )
