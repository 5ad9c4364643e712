from __future__ import annotations

from collections.abc import Iterator

from assay_conformance.model.event import Completion, Frame, Stored
from assay_conformance.pulsar.checks.flow._full_queue import (
    DEFAULT_MAX_PENDING,
    count_held,
    memory_surely_fits,
    refused_sends,
)
from assay_conformance.pulsar.timeline import Exercised, Says, Timeline, breach, check, each, ms
from assay_conformance.pulsar.timeline.handlers import done_ns


@check("flow.full-queue-blocks-or-fails")
def full_queue_blocks_or_fails(timeline: Timeline) -> Says:
    """flow.full-queue-blocks-or-fails: with block_if_queue_full a send waits while the queue is full; without it, the
    send fails at once, and its message is never sent."""
    yield from each(refused_sends(timeline), _judge_right, timeline)
    yield from each(refused_sends(timeline), _comes_at_once, timeline)
    yield from each(_left_all_the_same(timeline), _judge_left_out, timeline)


def _judge_right(timeline: Timeline, refusal: Completion) -> Says:
    handle, number, view = refusal.handle or 0, timeline.number(refusal), timeline.view
    call, said = timeline.call(refusal), f"message {number} failed at {ms(refusal.t_ns)} because a queue is full"
    if view.producer_setting(handle, "block_if_queue_full"):
        text = f"producer {handle}: {said}; expected the call to wait, since block_if_queue_full is set"
        yield breach("refused-instead-of-blocking", text, call, refusal)
        return
    yield Exercised(refusal)
    topic, configured = timeline.topic_of(handle), view.producer_setting(handle, "max_pending_messages")
    if topic is None or topic.partitions or view.producer_setting(handle, "chunking") or handle in timeline.bursts:
        return
    limit = DEFAULT_MAX_PENDING if configured is None else int(configured)
    under_way, bytes_limit = count_held(timeline, handle, call), view.client_setting(handle, "memory_limit_bytes")
    if (limit == 0 or under_way < limit) and memory_surely_fits(timeline, handle, call, refusal):
        room = f", and memory_limit_bytes of {bytes_limit} would not have been reached" if bytes_limit else ""
        yield breach(
            "refused-with-room",
            f"producer {handle}: {said}, with {under_way} sends pending; expected room for it, since "
            f"max_pending_messages is {limit or 'off'}{room}",
            *(call, refusal),
        )


def _comes_at_once(timeline: Timeline, refusal: Completion) -> Says:
    called_ns, refused_ns = refusal.called_ns, done_ns(refusal)
    if called_ns is None or timeline.view.producer_setting(refusal.handle or 0, "block_if_queue_full"):
        return
    counted_ns = max(called_ns, _opened_late_ns(timeline, refusal))
    if timeline.bounds.is_missing("answer", counted_ns, refused_ns, what="a refusal"):
        yield breach(
            "refused-late",
            f"producer {refusal.handle}: message {timeline.number(refusal)} was sent at {ms(called_ns)} with a full "
            f"queue; expected it to fail at once; it failed at {ms(refused_ns)}",
            *(timeline.call(refusal), refusal),
        )


def _opened_late_ns(timeline: Timeline, refusal: Completion) -> int:
    """Return when the last producer of a handle was first admitted, ahead of a refusal; 0 without one.

    Sends that are called before, also those that open their partition, wait for that, and only then join its queue.
    """
    let_in = (
        next((session.admitted for session in producer.sessions if session.admitted is not None), None)
        for producer in timeline.producers_of(refusal.handle or 0)
    )
    return max((one.t_ns for one in let_in if one is not None and one.seq < refusal.seq), default=0)


def _left_all_the_same(timeline: Timeline) -> Iterator[tuple[Completion, Frame | Stored]]:
    refused = {(end.handle, timeline.number(end)): end for end in refused_sends(timeline)}
    for identity, event in timeline.own_messages() if refused else ():
        refusal = refused.get((identity.handle, identity.number))
        if refusal is not None and event.seq > refusal.seq:
            yield refusal, event


def _judge_left_out(timeline: Timeline, left: tuple[Completion, Frame | Stored]) -> Says:
    refusal, event = left
    how = "stored" if isinstance(event, Stored) else "sent"
    yield breach(
        f"refused-and-{how}",
        f"producer {refusal.handle}: message {timeline.number(refusal)} failed at {ms(refusal.t_ns)} because a queue "
        f"is full; expected it never to be sent; it was {how} at {ms(event.t_ns)}",
        *(refusal, event),
    )
