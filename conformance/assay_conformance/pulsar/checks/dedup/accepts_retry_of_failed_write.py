from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from assay_conformance.checks.lines import is_duplicate
from assay_conformance.model.event import Frame, Stored
from assay_conformance.pulsar.checks.dedup._deduplication import (
    NO_SEQUENCE_ID,
    Name,
    deduplicated,
    name_of,
    named_session,
)
from assay_conformance.pulsar.checks.dedup._names import checked_later, effective_highest_id, highest_id
from assay_conformance.pulsar.checks.dedup._retries import is_taken_for_copy
from assay_conformance.pulsar.timeline import Exercised, ProducerSession, Says, Timeline, breach, check, ms


@dataclass(slots=True, eq=False)
class _Write:
    """A SEND at the broker. `clean`: nothing with its id or a later one was stored or pending when it arrived.
    `failed`: the earlier SEND with its id whose write failed and the SEND_ERROR, where this one must be stored because
    of that; `answer`: its own."""

    send: Frame
    name: _Name
    highest: int
    clean: bool
    failed: tuple[Frame, Frame] | None = None
    answer: Frame | None = None


@dataclass(slots=True, eq=False)
class _Name:
    """One producer name on a topic."""

    stored: int = NO_SEQUENCE_ID
    arrived: int = NO_SEQUENCE_ID
    pending: dict[int, _Write] = field(default_factory=dict)
    """By the number of the SEND's event, since a frame that a fault duplicates arrives twice under one id."""
    failures: dict[int, tuple[Frame, Frame]] = field(default_factory=dict)
    """Sequence id -> a SEND whose write failed, and its SEND_ERROR."""

    def is_clean(self, id: int) -> bool:
        return id > self.arrived or (id > self.stored and all(id > write.highest for write in self.pending.values()))

    def written(self, highest: int) -> None:
        """Note that all up to this id are written."""
        self.stored = max(self.stored, highest)
        while self.pending and (first := next(iter(self.pending.values()))).highest <= highest:
            del self.pending[first.send.seq]


def _retries(timeline: Timeline) -> Iterator[_Write]:
    """Yield SENDs that repeat a failed write.

    SENDs arriving after the broker's CLOSE_PRODUCER are ignored; those of a connection that was lost may still be
    written.
    """
    topics = deduplicated(timeline.view) if timeline.events.frames("SEND_ERROR") else frozenset()
    names, gone = dict[Name, _Name](), set[tuple[int, int | None]]()
    waiting: dict[tuple[int, int | None], dict[int, list[_Write]]] = {}
    frames = timeline.events.frames("PRODUCER", "CLOSE_PRODUCER", "SEND", "SEND_RECEIPT", "SEND_ERROR")
    moments: list[Frame | Stored] = [*frames, *timeline.events.of(Stored)] if topics else []
    for moment in sorted(moments, key=lambda one: one.seq):
        if isinstance(moment, Stored):
            known = names.get((moment.topic, moment.meta.producer_name))
            if known is not None and not checked_later(moment.meta):
                known.written(highest_id(moment))
            continue
        place = (moment.conn, moment.producer_id)
        if moment.command == "PRODUCER" and moment.to_receiver:
            gone.discard(place)
            waiting.pop(place, None)
        elif moment.command == "CLOSE_PRODUCER" and moment.at_broker:
            gone.add(place)
        elif moment.command == "SEND" and moment.to_receiver and moment.intact is not False and place not in gone:
            session = named_session(timeline, moment, topics)
            if session is not None:
                write = _arrived(names, session, moment)
                waiting.setdefault(place, {}).setdefault(moment.sequence_id or 0, []).append(write)
        elif moment.command in ("SEND_RECEIPT", "SEND_ERROR") and moment.from_sender:
            writes = waiting.get(place, {}).get(moment.sequence_id or 0)
            if writes:
                # A duplicate is answered without the store, before the first SEND with its id, which waits for it.
                write = writes.pop(-1 if is_taken_for_copy(moment) else 0)
                _answered(write, moment)
                if write.failed is not None:
                    yield write


def _arrived(names: dict[Name, _Name], session: ProducerSession, send: Frame) -> _Write:
    name, id = names.setdefault(name_of(session), _Name()), send.sequence_id or 0
    if checked_later(send.meta):
        return _Write(send, name, max(id, effective_highest_id(send)), clean=False)
    write = _Write(send, name, max(id, effective_highest_id(send)), clean=name.is_clean(id))
    write.failed = name.failures.pop(id, None) if write.clean else None
    name.pending[send.seq] = write
    name.arrived = max(name.arrived, write.highest)
    return write


def _answered(write: _Write, answer: Frame) -> None:
    write.answer = answer
    write.name.pending.pop(write.send.seq, None)
    if answer.command == "SEND_RECEIPT" and not is_duplicate(answer):
        write.name.written(write.highest)
    elif write.clean and answer.fields.get("error") == "PersistenceError":
        write.name.failures[answer.sequence_id or 0] = (write.send, answer)


@check("dedup.accepts-retry-of-failed-write", of=_retries)
def accepts_retry_of_failed_write(timeline: Timeline, retry: _Write) -> Says:
    """dedup.accepts-retry-of-failed-write: a clean SEND that was answered by SEND_ERROR PersistenceError was not
    written, and its retry is stored.

    A retry is judged where it is clean, too, and not when it fails again: the store may be down for long.
    """
    if retry.failed is None or retry.answer is None:
        return
    (send, error), answer = retry.failed, retry.answer
    if not is_taken_for_copy(answer):
        if answer.command == "SEND_RECEIPT":
            yield Exercised(answer)
        return
    got = "the receipt of a duplicate" if is_duplicate(answer) else "an error that calls it a possible duplicate"
    yield breach(
        "retry-not-taken",
        f"the SEND with sequence id {answer.sequence_id} at {ms(send.t_ns)} was not written (SEND_ERROR at "
        f"{ms(error.t_ns)}); it arrived again at {ms(retry.send.t_ns)}, and nothing with its id or a later one was "
        f"stored or pending; expected it to be stored; at {ms(answer.t_ns)} it got {got}",
        *(error, retry.send, answer),
    )
