"""Answers of has_message_available, compared with what the topic holds.

Judged where the answer does not depend on when within the call it was given: on topics that delete nothing by
themselves, and that nothing was stored on during the call.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from math import inf
from typing import NamedTuple

from assay_conformance.checks.consumption import in_force, is_torn
from assay_conformance.history.events import in_order
from assay_conformance.model.case import Step, Who
from assay_conformance.model.event import (
    Completion,
    Fate,
    Invoke,
    MessageId,
    Outcome,
    Received,
    Stepped,
    Stored,
    Waited,
)
from assay_conformance.pulsar.checks.seek._seeking import id_asked, lost_position, target_of
from assay_conformance.pulsar.timeline import Consumer, Exercised, Says, Timeline, breach, listens, ms

HAS_MESSAGE_AVAILABLE = "has_message_available"
_ALTERS = {"set_policy", "delete", "migrate"}


class Answer(NamedTuple):
    """What a reader said. `at` determines its position at the call: its opening, a seek, or the last message it
    received. `placed`: from when on it surely has that position."""

    consumer: Consumer
    at: Invoke | Received
    end: Completion
    placed: int
    asked: int


def answers(timeline: Timeline, place: type[Invoke | Received]) -> Iterator[Answer]:
    """Yield the answers after a received message, or those before any."""
    steps, topics = timeline.view.case.steps, timeline.topology.topics
    shrinking = any(topic.message_ttl_s or topic.retention is not None for topic in topics)
    # Whether what was sent was stored in time for an answer is unknown.
    if shrinking or _altered_later(steps) or timeline.events.frames("SEND"):
        return
    for consumer in timeline.consumers:
        if len(consumer.topics) == 1 and timeline.events.invokes(HAS_MESSAGE_AVAILABLE):
            yield from (answer for answer in _of(timeline, consumer) if isinstance(answer.at, place))


def _of(timeline: Timeline, consumer: Consumer) -> Iterator[Answer]:
    at: Invoke | Received | None = consumer.invoke
    opened = timeline.end_of(consumer.invoke.op)
    placed = consumer.invoke.seq if opened is None else opened.seq
    pending, asked = set[int](), dict[int, tuple[Invoke | Received, int, int]]()
    torn = _torn(timeline, consumer)
    for event in _moves(timeline, consumer):
        if isinstance(event, Received):
            # A handler was called without a request: before the answer, or after it.
            asked.clear()
            at, placed = event, event.seq
        elif event.verb != HAS_MESSAGE_AVAILABLE and isinstance(event, Invoke):
            # Until it has ended, the reader's position is unknown.
            pending.add(event.op)
            asked.clear()
        elif isinstance(event, Invoke):
            if at is not None and not pending:
                asked[event.op] = at, placed, event.seq
        elif event.verb != HAS_MESSAGE_AVAILABLE:
            pending.discard(event.op)
            if event.verb == "seek" and event.outcome in (Outcome.OK, Outcome.UNKNOWN):
                at = timeline.call_of(event.op) if event.outcome is Outcome.OK else None
                placed = event.seq
        else:
            where = asked.pop(event.op, None)
            if where is not None and event.outcome is Outcome.OK and event.seq < torn:
                yield Answer(consumer, where[0], event, *where[1:])


def _moves(timeline: Timeline, consumer: Consumer) -> list[Invoke | Completion | Received]:
    """Return its messages, and its receives, seeks and questions with their ends, in order."""
    events, verbs, handle = timeline.events, ("receive", "seek", HAS_MESSAGE_AVAILABLE), consumer.handle
    calls, ends = events.invokes_of(handle, *verbs), events.completions_of(handle, *verbs)
    return in_order([*timeline.received(consumer), *calls, *ends])


def _torn(timeline: Timeline, consumer: Consumer) -> float:
    """Return from when on reading and topic may differ.

    A duplicate made by a fault may be read although the topic does not hold it, and a damaged or dropped message may
    not be read although it does.
    """
    frames = (frame for _, frame in timeline.frames_of(consumer, "MESSAGE"))
    return next((one.seq for one in frames if one.fate is Fate.DUPLICATED or is_torn(one)), inf)


def _stored_after(timeline: Timeline, entry: Stored) -> int:
    """Return the number of an event after which an entry was stored.

    An entry may be delivered before its append is recorded. That is recorded at the end of the step that stores it, so
    what is first seen within such a step was stored in it; what is first seen elsewhere has been there for long.
    """
    if not entry.late:
        return entry.seq
    ended: list[Stepped | Waited] = [*timeline.events.of(Stepped), *timeline.events.of(Waited)]
    steps = in_order(ended)
    place = bisect_left(steps, entry.seq, key=lambda step: step.seq)
    step = timeline.view.case.step(steps[place].step) if 0 < place < len(steps) else None
    return steps[place - 1].seq if step is not None and step.verb == "store_entries" else 0


def judged(timeline: Timeline, answer: Answer) -> Says:
    """Judge an answer, now that it is known what the topic holds."""
    consumer, at, end, placed, asked = answer
    entries = timeline.stored_on(consumer.topics[0])
    stored = [entry for entry in entries if entry.seq < asked]
    appended = [(_stored_after(timeline, entry), entry.seq) for entry in entries]
    if any((since < end.seq and asked < until) or since < placed < until for since, until in appended):
        return
    unclear = any(entry.meta.chunk_id is not None or entry.meta.deliver_at_ms is not None for entry in stored)
    inclusive = _may_be_inclusive(at) and bool(in_force(timeline.view, consumer, "start_inclusive"))
    unclear = unclear or inclusive or _is_in_unknown_place(at, stored)
    unclear = unclear or lost_position(consumer, at, end) or _may_be_called(timeline, consumer, at, stored)
    # In an empty topic every place is the same.
    if stored and unclear:
        return
    available = bool(end.values.get("available"))
    came = any(entry.seq > placed for entry in stored) if isinstance(at, Invoke) else False
    if available is (came or _is_more(timeline, consumer, at, stored)):
        yield Exercised(end)
        return
    if (
        not available
        and listens(consumer)
        and not _is_more(timeline, consumer, at, _not_come(timeline, answer, stored))
    ):
        return
    yield breach(
        "says-more" if available else "says-no-more",
        f"reader {consumer.handle}, {_where(at)}, answered has_message_available with {available} at "
        f"{ms(end.t_ns)}; expected {not available}; its topic holds {len(stored)} entries"
        + (f", the last of them {stored[-1].id.name}" if stored else ""),
        *stored[-1:],
        at,
        end,
    )


def _is_more(timeline: Timeline, consumer: Consumer, at: Invoke | Received, stored: list[Stored]) -> bool:
    if isinstance(at, Received):
        return _is_after(stored, at.message_id)
    if (id := id_asked(at)) is not None:
        return _is_after(stored, id)
    if at.verb == "open_consumer":
        return bool(stored) and in_force(timeline.view, consumer, "initial_position") == "earliest"
    return any(entry.meta.publish_time_ms >= at.args["publish_time_ms"] for entry in stored)


def _is_after(stored: list[Stored], id: MessageId) -> bool:
    """Return whether a message, or one of a batch, comes after this one."""
    place = (id.position, max(id.batch_index, 0))
    return any((entry.id.position, entry.meta.messages - 1) > place for entry in stored)


def _is_in_unknown_place(at: Invoke | Received, stored: list[Stored]) -> bool:
    """Return whether a call names a batch without an index: how much of that is left to read is not known."""
    id = None if isinstance(at, Received) else id_asked(at)
    return (
        id is not None
        and id.batch_index < 0
        and any(entry.id.position == id.position and entry.meta.messages > 1 for entry in stored)
    )


def _may_be_inclusive(at: Invoke | Received) -> bool:
    """Return whether `start_inclusive` changes the result: after a seek to a message, or at an end of the topic."""
    return isinstance(at, Invoke) and at.args.get("publish_time_ms") is None


def _may_be_called(timeline: Timeline, consumer: Consumer, at: Invoke | Received, stored: list[Stored]) -> bool:
    """Return whether its handler may have been called with the last message, which is reported a moment later."""
    return (
        listens(consumer)
        and _is_more(timeline, consumer, at, stored)
        and not _is_more(timeline, consumer, at, stored[:-1])
    )


def _not_come(timeline: Timeline, answer: Answer, stored: list[Stored]) -> list[Stored]:
    """Return entries that had not come to the reader when it answered.

    Java takes what has come for read as soon as a handler is to be called with it, after the call that goes on.
    """
    sessions = answer.consumer.sessions
    frames = (frame for session in sessions for frame in timeline.consumer_sessions.frames(session, "MESSAGE"))
    came = {frame.ids[0].position for frame in frames if frame.at_client and frame.ids and frame.seq < answer.end.seq}
    return [entry for entry in stored if entry.id.position not in came]


def _where(at: Invoke | Received) -> str:
    if isinstance(at, Received):
        return f"which had received {at.message_id.full_name}"
    return f"which had sought {target_of(at)}" if at.verb == "seek" else "which had received nothing"


def _altered_later(steps: Sequence[Step]) -> bool:
    questions = [index for index, step in enumerate(steps) if step.verb == HAS_MESSAGE_AVAILABLE]
    later = steps[questions[0] :] if questions else ()
    return any(step.who is Who.BROKER and step.verb in _ALTERS for step in later)
