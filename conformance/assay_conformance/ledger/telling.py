"""The whole life of a message in lines, for readers of a finding."""

from __future__ import annotations

from collections.abc import Iterator

from assay_conformance.ledger.lives import Evidence, Life
from assay_conformance.ledger.rows import Epoch
from assay_conformance.ledger.rules.base import at, id_of
from assay_conformance.ledger.tables import NONE, AckKind, Result

MAX_LINES = 40

_RESULTS = {Result.OK: "ok", Result.FAIL: "failed", Result.UNKNOWN: "unknown"}
_WORDS = {AckKind.ACK: "acknowledged", AckKind.NACK: "refused", AckKind.COVERED: "acknowledged with those before it"}


def describe_life(life: Life, evidence: Evidence) -> tuple[str, ...]:
    """Return what the rows say of a message, by time; what is stored of it; its neighbours; the faults of that time."""
    lines = [line for _, line in sorted(_events(life, evidence))]
    lines += [
        f"stored as {id_of(row)}" + (f", chunk {row.chunk} of {row.chunks}" if row.chunks > 1 else "")
        for row in sorted(life.stored)
    ]
    lines += [
        f"message {seq}: {_in_short(evidence.lives[life.stream, seq])}"
        for seq in (life.seq - 1, life.seq + 1)
        if (life.stream, seq) in evidence.lives
    ]
    return tuple(lines[:MAX_LINES])


def _events(life: Life, evidence: Evidence) -> Iterator[tuple[int, str]]:
    small = evidence.small
    for sent in life.attempts:
        key = small.keys.get(sent.key)
        named = f", key {key.text}" if key else ""
        due = "" if sent.deliver_at is None else f", to be delivered at {at(sent.deliver_at)}"
        yield (
            sent.t,
            f"{at(sent.t)} sent{f' again ({sent.attempt})' if sent.attempt else ''}: {sent.size} bytes{named}{due}",
        )
    for outcome in life.outcomes:
        where = f" as {id_of(outcome)}" if outcome.ledger != NONE else ""
        yield outcome.t, f"{at(outcome.t)} reported: {_RESULTS[Result(outcome.code)]}{where}"
    for sub, copies in life.given.items():
        for row in copies:
            who = f"{small.consumers[row.consumer].name} of {small.subscriptions[sub].name}"
            yield row.t, f"{at(row.t)} delivered to {who}: {id_of(row)}, redelivery count {row.redeliv}"
    for sub, words in life.said.items():
        for word in words:
            who = f"{small.consumers[word.consumer].name} of {small.subscriptions[sub].name}"
            done = "" if word.t_done is None else f", done at {at(word.t_done)}"
            yield word.t, f"{at(word.t)} {_WORDS[AckKind(word.kind)]} by {who}{done}"
    times = [row.t for row in life.attempts] + [row.t for row in life.outcomes]
    times += [row.t for copies in life.given.values() for row in copies]
    for epoch in small.epochs.values():
        if times and _overlaps(epoch, min(times), max(times)):
            until = "for good" if epoch.t_to is None else f"until {at(epoch.t_to)}"
            yield epoch.t_from, f"{at(epoch.t_from)} {epoch.action} of {epoch.target}, {until}"


def _overlaps(epoch: Epoch, from_us: int, to_us: int) -> bool:
    return epoch.t_from <= to_us and (epoch.t_to is None or epoch.t_to >= from_us)


def _in_short(life: Life) -> str:
    outcome = [
        f"{_RESULTS[Result(row.code)]}{f' as {id_of(row)}' if row.ledger != NONE else ''}" for row in life.outcomes
    ]
    copies = sum(len(rows) for rows in life.given.values())
    return ", ".join([*(outcome or ["no outcome"]), f"delivered {copies} times" if copies != 1 else "delivered once"])
