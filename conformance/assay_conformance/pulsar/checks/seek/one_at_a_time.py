from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from assay_conformance.model.event import Closed, Completion, Frame, Invoke, Outcome
from assay_conformance.pulsar.timeline import Exercised, Says, Timeline, breach, check, ended_ns, ms


def _second(timeline: Timeline) -> Iterator[tuple[Invoke, Completion]]:
    """Yield the ends of second seeks, each with the one of the same partition that was pending when it was called.

    A seek is pending until its end came; one called meanwhile, of whatever partition, is not.
    """
    pending: dict[int | None, tuple[Invoke, Completion | None]] = {}
    for call in timeline.events.invokes("seek"):
        first, end = pending.get(call.handle, (call, None))
        if first is call or (end is not None and end.seq < call.seq):
            pending[call.handle] = (call, timeline.end_of(call.op))
            continue
        ended = timeline.end_of(call.op)
        if ended is not None and _partition(first) == _partition(call):
            yield first, ended


@check("seek.one-at-a-time", of=_second)
def one_at_a_time(timeline: Timeline, second: tuple[Invoke, Completion]) -> Says:
    """seek.one-at-a-time: of two seeks of one consumer the second fails, or its SEEK waits for the answer to the first
    one's, where it reached the client before the first ended: one of them would end at a position that was not
    requested.

    Seeks to messages of different partitions are for different consumers inside the client, and both may succeed.
    """
    first, end = second
    if end.outcome is not Outcome.OK:
        yield Exercised(end)
        return
    ended = timeline.end_of(first.op)
    # The first may have ended before the second was called, and its end was recorded late.
    if ended is not None and ended.seq < end.seq:
        called_ns = end.called_ns
        if called_ns is None or not timeline.bounds.is_past("crossing", called_ns, ended_ns(ended)):
            return
    if _is_queued(timeline, first, end):
        yield Exercised(end)
        return
    yield breach(
        "taken-beside-another",
        f"a seek of consumer {end.handle} was called at {ms(first.t_ns)}, and a second one before it had ended; "
        f"expected the second to fail, or its SEEK to wait for the first one's answer; it did not wait, and succeeded "
        f"at {ms(end.t_ns)}",
        *(first, end),
    )


def _is_queued(timeline: Timeline, first: Invoke, end: Completion) -> bool:
    """Return whether each second SEEK left when the first one had its answer, or its connection was gone."""
    consumer = timeline.consumer(first.handle)
    written: dict[str, list[Frame]] = {}
    for session in consumer.sessions if consumer is not None else ():
        for frame in timeline.consumer_sessions.frames(session, "SEEK"):
            if frame.from_sender and first.seq < frame.seq < end.seq:
                written.setdefault(session.topic, []).append(frame)
    return bool(written) and all(
        len(frames) > 1 and all(_is_over(timeline, one, then) for one, then in pairwise(frames))
        for frames in written.values()
    )


def _is_over(timeline: Timeline, seek: Frame, then: Frame) -> bool:
    answered = any(answer.to_receiver and answer.seq < then.seq for answer in timeline.answers_to(seek))
    gone = (one for one in timeline.events.of(Closed) if one.conn == seek.conn)
    return answered or any(one.seq < then.seq for one in gone)


def _partition(seek: Invoke) -> int | None:
    """Return the partition of the target message; None for a time."""
    id = seek.args.get("message_id")
    return None if id is None else int(id[2])
