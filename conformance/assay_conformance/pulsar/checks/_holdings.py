"""What a topic holds of a producer's messages is what some possible world of its sends explains."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from assay_conformance.judging.worlds import Kind, Standing
from assay_conformance.model.event import Event
from assay_conformance.pulsar.timeline import Exercised, Says, Send, Timeline, breach, ms
from assay_conformance.pulsar.timeline.holdings import STANDING, Contradicted, Holding


def by_outcome(send: Send) -> Standing:
    """Return the standing that the outcome of a send implies."""
    return STANDING[send.outcome]


def judge_possible(
    timeline: Timeline,
    holding: Holding,
    codes: Mapping[Kind, str],
    standing: Callable[[Send], Standing] = by_outcome,
    *,
    once: bool = False,
) -> Says:
    """Judge whether what topics hold agrees with the sends in some possible world.

    A world decides of each send with an unknown outcome whether it happened. `codes`: the finding code of each kind of
    contradiction that the requirement is about; `standing`: whether a send happened in all, some or no worlds;
    `once`: no copies are allowed.
    """
    timeline.check_untampered(holding.handle)
    for found in holding.contradictions(standing, once=once):
        if found.kind in codes:
            # That a message is absent is shown only by what the broker holds at the end.
            absence = holding.read_back if found.kind is Kind.LOST else None
            evidence = (*_evidence(timeline, found), absence)
            yield breach(codes[found.kind], _sentence(holding, found), *evidence)


def stored_behind(holding: Holding, first: int) -> Iterator[Exercised]:
    """Yield an exercise for each entry but the `first` ones of the producer in each topic or partition."""
    for log in holding.logs.values():
        yield from (Exercised(entry) for _, entry in log[first:])


def _sentence(holding: Holding, found: Contradicted) -> str:
    (kind, send, entries), producer = found, f"producer {holding.handle}"
    what = "a message" if send is None else f"message {send.invoke.number}"
    where = f"topic {entries[0].topic if entries else holding.topic.name}"
    at = " and ".join(f"as {entry.id.name} at {ms(entry.t_ns)}" for entry in entries)
    if kind is Kind.LOST:
        done = send.completion if send else None
        when = f" at {ms(done.t_ns)}" if done else ""
        return f"{producer}: the send of {what} succeeded{when}; expected {where} to hold it; it does not"
    if kind is Kind.PHANTOM:
        why = "was never sent" if send is None else "failed to be sent"
        return f"{producer}: {what} {why}; expected {where} not to hold it; it does, {at}"
    if kind is Kind.TWICE:
        return f"{producer}: expected {what} to be stored once; {where} holds it {at}"
    return f"{producer}: expected {what} to be stored before a later one; {where} holds them {at}"


def _evidence(timeline: Timeline, found: Contradicted) -> Sequence[Event]:
    _, send, entries = found
    if send is None:
        return entries
    unit = None if entries else timeline.unit_with(send)
    answer = [] if unit is None else [(unit.receipts or (unit.first,))[-1]]
    return [*entries, send.completion or send.invoke, *answer]
