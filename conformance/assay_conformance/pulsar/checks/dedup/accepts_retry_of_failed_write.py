from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from assay_conformance.checks.lines import is_duplicate
from assay_conformance.history.events import in_order
from assay_conformance.model.event import Frame, Stored
from assay_conformance.pulsar.checks.dedup._deduplication import (
    NO_SEQUENCE_ID,
    Name,
    deduplicated,
    name_of,
    named_session,
)
from assay_conformance.pulsar.timeline import Exercised, Publish, Says, Timeline, breach, check, ms, takes_for_copy


@dataclass(slots=True, eq=False)
class _Write:
    """`clean`: nothing with its id or a later one was stored or pending when it arrived. `failed`: the earlier SEND
    with its id whose write failed and the SEND_ERROR, where this one must be stored because of that."""

    publish: Publish
    name: _Name
    clean: bool
    failed: tuple[Frame, Frame] | None = None


@dataclass(slots=True, eq=False)
class _Name:
    """One producer name on a topic."""

    stored: int = NO_SEQUENCE_ID
    arrived: int = NO_SEQUENCE_ID
    pending: dict[Publish, None] = field(default_factory=dict)
    """In order of arrival."""
    failures: dict[int, tuple[Frame, Frame]] = field(default_factory=dict)
    """Sequence id -> a SEND whose write failed, and its SEND_ERROR."""

    def is_clean(self, id: int) -> bool:
        return id > self.arrived or (id > self.stored and all(id > one.highest_id for one in self.pending))

    def written(self, highest: int) -> None:
        """Note that all up to this id are written."""
        self.stored = max(self.stored, highest)
        while (first := next(iter(self.pending), None)) is not None and first.highest_id <= highest:
            del self.pending[first]


def _retries(timeline: Timeline) -> Iterator[_Write]:
    """Yield SENDs that repeat a failed write. Those of a connection that was lost may still be written."""
    topics = deduplicated(timeline.view) if timeline.events.frames("SEND_ERROR") else frozenset()
    names, writes = dict[Name, _Name](), dict[Publish, _Write]()
    frames = timeline.events.frames("SEND", "SEND_RECEIPT", "SEND_ERROR")
    moments: list[Frame | Stored] = [*frames, *timeline.events.of(Stored)] if topics else []
    for moment in in_order(moments):
        if isinstance(moment, Stored):
            known = names.get((moment.topic, moment.meta.producer_name))
            if known is not None and not moment.meta.is_early_chunk:
                known.written(moment.meta.highest_id)
            continue
        publish = timeline.publishes.of(moment)
        if publish is None or publish.is_ignored or not publish.is_intact:
            continue
        if moment is publish.send:
            session = named_session(timeline, moment, topics)
            if session is not None:
                writes[publish] = _arrived(names.setdefault(name_of(session), _Name()), publish)
        elif publish in writes:
            _answered(writes[publish], moment)
            if writes[publish].failed is not None:
                yield writes[publish]


def _arrived(name: _Name, publish: Publish) -> _Write:
    if publish.is_early_chunk:
        return _Write(publish, name, clean=False)
    write = _Write(publish, name, clean=name.is_clean(publish.id))
    write.failed = name.failures.pop(publish.id, None) if write.clean else None
    name.pending[publish] = None
    name.arrived = max(name.arrived, publish.highest_id)
    return write


def _answered(write: _Write, answer: Frame) -> None:
    name, publish = write.name, write.publish
    name.pending.pop(publish, None)
    if answer.command == "SEND_RECEIPT" and not is_duplicate(answer):
        name.written(publish.highest_id)
    elif write.clean and answer.fields.get("error") == "PersistenceError":
        name.failures[publish.id] = (publish.send, answer)


@check("dedup.accepts-retry-of-failed-write", of=_retries)
def accepts_retry_of_failed_write(timeline: Timeline, retry: _Write) -> Says:
    """dedup.accepts-retry-of-failed-write: a clean SEND that was answered by SEND_ERROR PersistenceError was not
    written, and its retry is stored.

    A retry is judged where it is clean, too, and not when it fails again: the store may be down for long.
    """
    again, answer = retry.publish.send, retry.publish.likely_answer
    if retry.failed is None or answer is None:
        return
    send, error = retry.failed
    if not takes_for_copy(answer):
        if answer.command == "SEND_RECEIPT":
            yield Exercised(answer)
        return
    got = "the receipt of a duplicate" if is_duplicate(answer) else "an error that calls it a possible duplicate"
    yield breach(
        "retry-not-taken",
        f"the SEND with sequence id {answer.sequence_id} at {ms(send.t_ns)} was not written (SEND_ERROR at "
        f"{ms(error.t_ns)}); it arrived again at {ms(again.t_ns)}, and nothing with its id or a later one was "
        f"stored or pending; expected it to be stored; at {ms(answer.t_ns)} it got {got}",
        *(error, again, answer),
    )
