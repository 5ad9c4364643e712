"""What was unanswered when the broker said that a producer is over: it fails soon."""

from __future__ import annotations

from typing import NamedTuple

from assay_conformance.model.event import ErrorClass, Frame, Outcome
from assay_conformance.pulsar.timeline import (
    Exercised,
    Producer,
    Says,
    Send,
    Timeline,
    Unit,
    breach,
    each,
    ended_ns,
    is_vague,
    ms,
)


class PendingSend(NamedTuple):
    """A send that was written before `word`, the broker's end of its producer, and had neither receipt nor end."""

    word: Frame
    unit: Unit
    send: Send


def pending_at(timeline: Timeline, producer: Producer, word: Frame) -> list[PendingSend]:
    """Return all pending sends of a producer."""
    return [
        PendingSend(word, unit, send)
        for unit in timeline.pending.unreceipted(producer, word)
        for send in timeline.sends(unit)
        if send.is_pending(word)
    ]


def fail_soon(
    timeline: Timeline, producer: Producer, word: Frame, said: str, expected: ErrorClass | None = None
) -> Says:
    """Judge whether what was pending when the broker `said` so in `word` fails soon, and with what is expected."""
    pending = pending_at(timeline, producer, word) if timeline.was_read(word) else ()
    yield from each(pending, _fails_soon, timeline, said, expected)


def _fails_soon(timeline: Timeline, said: str, expected: ErrorClass | None, pending: PendingSend) -> Says:
    word, unit, send = pending
    end, producer = send.completion, unit.line
    timeline.owner(producer)
    said = f"{producer}: the broker said at {ms(word.t_ns)} {said}; {unit} had no receipt"
    until_ns = timeline.bounds.until(producer.closing, None if end is None else ended_ns(end))
    if timeline.bounds.is_overdue("reconnect", word.t_ns, until_ns, what="a failure"):
        yield breach("left-pending", f"{said} and its send had not failed by {ms(until_ns)}", unit.first, word, end)
    elif end is not None and end.outcome is not Outcome.OK:
        if expected is not None and is_vague(end, word, expected):
            came = f"its send failed at {ms(end.t_ns)} with {end.error} ({end.text}), expected {expected}"
            yield breach("wrong-error", f"{said}, and {came}", word, end)
        yield Exercised(end)
