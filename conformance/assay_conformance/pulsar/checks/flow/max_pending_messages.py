from __future__ import annotations

from collections.abc import Iterator

from assay_conformance.pulsar.timeline import Exercised, FirstSend, Says, Timeline, breach, check, ms


def _limit(timeline: Timeline, handle: int) -> int:
    return int(timeline.view.producer_setting(handle, "max_pending_messages") or 0)


def _at_the_limit(timeline: Timeline) -> Iterator[FirstSend]:
    for handle in timeline.openings:
        limit = _limit(timeline, handle)
        if limit and len(timeline.sends_of(handle)) >= limit:
            yield from (first for first in timeline.first_sends(handle) if first.pending >= limit)


@check("flow.max-pending-messages", of=_at_the_limit)
def max_pending_messages(timeline: Timeline, first: FirstSend) -> Says:
    """flow.max-pending-messages: a producer has no more messages without a receipt, on each partition, than its limit;
    batch members count one by one."""
    handle, count, limit = first.handle, first.pending, _limit(timeline, first.handle)
    timeline.check_receipts(handle, first.frame)
    if count == limit:
        yield Exercised(first.frame)
        return
    yield breach(
        "too-many-pending",
        f"producer {handle}: {count} messages on {first.unit.line.topic} were without a receipt at "
        f"{ms(first.frame.t_ns)}; expected at most {limit}, its max_pending_messages",
        *(next(first.in_flight.sends(handle)).invoke, first.frame),
    )
