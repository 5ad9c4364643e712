from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple, TypeVar

from assay_conformance.model.event import Frame, Note
from assay_conformance.model.hooks import STATE
from assay_conformance.model.topic_names import partition_number
from assay_conformance.pulsar.timeline import Consumer, Exercised, Says, Timeline, breach, check, ms

T = TypeVar("T", Frame, Note)

_CHANGE = "ACTIVE_CONSUMER_CHANGE"


class _Reported(NamedTuple):
    """What a broker said of a consumer on one topic or partition, and what its listener was called with, both without
    repetitions."""

    consumer: Consumer
    partition: int
    changes: Sequence[Frame]
    notes: Sequence[Note]


def _reported(timeline: Timeline) -> Iterator[_Reported]:
    for consumer in timeline.consumers:
        # Of several topics a call of the listener does not say which one it is about.
        if not consumer.invoke.args.get("state_listener") or len(consumer.topics) != 1:
            continue
        notes = [one for one in timeline.events.of(Note) if one.text == STATE and one.handle == consumer.handle]
        changes = [
            one for one in timeline.events.frames(_CHANGE) if one.to_receiver and timeline.consumer_of(one) is consumer
        ]
        partitions = {_partition(timeline, frame) for frame in changes} | {_place(one) for one in notes}
        for partition in sorted(partitions - timeline.once(_unowned)):
            yield _Reported(
                consumer,
                partition,
                _changing([one for one in changes if _partition(timeline, one) == partition]),
                _changing([one for one in notes if _place(one) == partition]),
            )


@check("subscription.state-listener-follows-broker", of=_reported)
def state_listener_follows_broker(timeline: Timeline, reported: _Reported) -> Says:
    """subscription.state-listener-follows-broker: a state listener is called with each change that arrives, in order,
    and with nothing else.

    A change that arrives when the consumer is about to be closed may be left out. A partition of which one arrived
    at a session whose consumer is not known is not judged.
    """
    consumer, partition, changes, notes = reported
    whose = f"the state listener of consumer {consumer.handle}, partition {partition},"
    for number, note in enumerate(notes):
        change = next((one for one in changes[number : number + 1] if one.seq < note.seq), None)
        if change is None or _is_active(change) is not _is_active(note):
            state = "there was none" if change is None else f"active={_is_active(change)}, of {ms(change.t_ns)}"
            yield breach(
                "reported-otherwise",
                f"{whose} was called with active={_is_active(note)} at {ms(note.t_ns)}; expected the state of the next "
                f"{_CHANGE}: {state}",
                *([] if change is None else [change]),
                note,
            )
            return
        yield Exercised(note)
    for change in changes[len(notes) :]:
        until_ns = timeline.bounds.end_ns if consumer.closing is None else consumer.closing.t_ns
        if timeline.bounds.is_missing("answer", change.t_ns, until_ns, what="a call of a state listener"):
            yield breach(
                "not-reported",
                f"{_CHANGE} with active={_is_active(change)} arrived at {ms(change.t_ns)}; expected {whose} to be "
                "called; it was not",
                change,
            )
        return


def _unowned(timeline: Timeline) -> set[int]:
    """Return the partitions of which a change arrived at a session that several consumers may have."""
    frames = (frame for frame in timeline.events.frames(_CHANGE) if frame.to_receiver)
    return {_partition(timeline, frame) for frame in frames if timeline.consumer_of(frame) is None}


def _partition(timeline: Timeline, frame: Frame) -> int:
    session = timeline.consumer_sessions.of(frame)
    return -1 if session is None else partition_number(session.topic)


def _place(note: Note) -> int:
    return int(note.values.get("partition", -1))


def _is_active(one: Frame | Note) -> bool:
    said = one.fields.get("is_active") if isinstance(one, Frame) else one.values.get("active")
    return bool(said)


def _changing(found: Sequence[T]) -> list[T]:
    """Return the states without those that repeat the one before."""
    return [next(group) for _, group in groupby(found, key=_is_active)]
