from __future__ import annotations

from collections.abc import Iterator

from assay_conformance.model.event import Completion
from assay_conformance.pulsar.checks.flow._full_queue import count_held, refused_sends
from assay_conformance.pulsar.timeline import Exercised, FirstSend, Says, Timeline, breach, check, each, ms


@check("flow.max-pending-across-partitions")
def max_pending_across_partitions(timeline: Timeline) -> Says:
    """flow.max-pending-across-partitions: each partition's messages without a receipt are no more than its share of the
    limit, and none is refused with room. A share of none is not judged.

    That none is refused with room is judged under routing to a single partition, and without chunking: elsewhere
    nothing shows where a refused message was to go, nor how many places its chunks and those of others took.
    """
    shares = {handle: share for handle in timeline.openings if (share := _share(timeline, handle))}
    full = (
        (shares[first.handle], first)
        for handle in shares
        for first in timeline.first_sends(handle)
        if first.pending >= shares[handle]
    )
    yield from each(full, _judge_within, timeline)
    yield from each(_judged(timeline, shares), _judge_no_room, timeline, shares)


def _share(timeline: Timeline, handle: int) -> int:
    """Return what a partition of this producer's topic may have; 0 where no limit is shared."""
    setting = timeline.view.producer_setting
    across, own = setting(handle, "max_pending_across_partitions"), setting(handle, "max_pending_messages")
    topic = timeline.topic_of(handle) if across else None
    share = int(across or 0) // topic.partitions if topic is not None and topic.partitions else 0
    if any(step.verb == "grow" for step in timeline.view.case.steps):
        return 0
    return min(share, int(own)) if own else share


def _judge_within(timeline: Timeline, full: tuple[int, FirstSend]) -> Says:
    """Judge a SEND that leaves while its partition's share is used up."""
    share, (handle, unit, frame, in_flight) = full
    count, topic = full[1].pending, unit.line.topic
    timeline.check_receipts(handle, frame)
    if count == share:
        yield Exercised(frame)
        return
    yield breach(
        "too-many-pending",
        f"producer {handle}: {count} messages on {topic} were without a receipt at {ms(frame.t_ns)}; expected at most "
        f"{share}, its share of the limit across partitions",
        *(next(in_flight.sends(handle, topic)).invoke, frame),
    )


def _judged(timeline: Timeline, shares: dict[int, int]) -> Iterator[Completion]:
    setting = timeline.view.producer_setting
    for refusal in refused_sends(timeline):
        handle = refusal.handle or 0
        alone = setting(handle, "routing") == "single" and not setting(handle, "chunking")
        bounded = timeline.view.client_setting(handle, "memory_limit_bytes") or handle in timeline.bursts
        if handle in shares and alone and not bounded:
            yield refusal


def _judge_no_room(timeline: Timeline, shares: dict[int, int], refusal: Completion) -> Says:
    handle, call = refusal.handle or 0, timeline.call(refusal)
    under_way, share = count_held(timeline, handle, call), shares[handle]
    if under_way < share:
        yield breach(
            "refused-with-room",
            f"producer {handle}: message {call.number} failed at {ms(refusal.t_ns)} because a queue is full, with "
            f"{under_way} sends pending on its partition; expected room for it, since its share of the limit is "
            f"{share}",
            *(call, refusal),
        )
