from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from assay_conformance.checks.lines import is_duplicate
from assay_conformance.model.event import Frame, Stored
from assay_conformance.pulsar.checks.dedup._deduplication import Name, deduplicated
from assay_conformance.pulsar.checks.dedup._names import steps
from assay_conformance.pulsar.timeline import Exercised, Publish, Says, Timeline, breach, check, ms, takes_for_copy


class _Failed(NamedTuple):
    """A SEND whose write failed, and the SEND_ERROR."""

    send: Frame
    error: Frame


def _retries(timeline: Timeline) -> Iterator[tuple[Publish, _Failed]]:
    """Yield SENDs that repeat a failed write. Those of a connection that was lost may still be written."""
    topics = deduplicated(timeline.view) if timeline.events.frames("SEND_ERROR") else frozenset()
    failures, clean, retries = dict[tuple[Name, int], _Failed](), set[Publish](), dict[Publish, _Failed]()
    for event, name, numbers, publish in steps(timeline, topics):
        if isinstance(event, Stored):
            numbers.written(event.meta.highest_id)
        elif publish is None or publish.is_ignored or not publish.is_intact:
            continue
        elif event is not publish.send:
            numbers.answered(publish, event)
            if publish in clean and event.fields.get("error") == "PersistenceError":
                failures[name, publish.id] = _Failed(publish.send, event)
            if publish in retries:
                yield publish, retries[publish]
        elif not publish.is_early_chunk:
            if numbers.is_new(publish.id):
                clean.add(publish)
                retries |= {publish: failures.pop((name, publish.id))} if (name, publish.id) in failures else {}
            numbers.arrives(publish)


@check("dedup.accepts-retry-of-failed-write", of=_retries)
def accepts_retry_of_failed_write(timeline: Timeline, retry: tuple[Publish, _Failed]) -> Says:
    """dedup.accepts-retry-of-failed-write: a clean SEND that was answered by SEND_ERROR PersistenceError was not
    written, and its retry is stored.

    A retry is judged where it is clean, too, and not when it fails again: the store may be down for long.
    """
    (publish, (send, error)), again = retry, retry[0].send
    answer = publish.likely_answer
    if answer is None:
        return
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
