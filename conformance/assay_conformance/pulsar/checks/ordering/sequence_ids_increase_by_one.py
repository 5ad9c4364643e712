from __future__ import annotations

import itertools
from bisect import bisect_left
from collections.abc import Iterator

from assay_conformance.checks.lines import has_own_ids, last_id
from assay_conformance.pulsar.timeline import Breach, Exercised, Producer, Says, Timeline, Unit, breach, check, each, ms


@check("ordering.sequence-ids-increase-by-one")
def sequence_ids_increase_by_one(timeline: Timeline) -> Says:
    """ordering.sequence-ids-increase-by-one: between message a and message b of a producer the ids differ by 1 to
    b - a: by exactly 1 where b is the next.

    Messages in between that never left (refused, timed out, or routed to another partition) may have taken an id or
    not; one that left together with an earlier message has taken one, too. Not judged are ids that the application
    chose, and those of a key-based batcher.

    Messages without a number in their payload are judged by their first SENDs on one session, where none may overtake:
    each has a greater id than the one before, and skips no more ids than there were send calls whose messages have not
    left.
    """
    judged = [*_with_own_ids(timeline)]
    yield from each(judged, _numbered)
    yield from each(judged, _unnumbered, timeline)


def _with_own_ids(timeline: Timeline) -> Iterator[Producer]:
    setting = timeline.view.producer_setting
    for producer in timeline.producers:
        handle = producer.handle
        if handle is None or timeline.chooses_ids(producer):
            continue
        if setting(handle, "batching_type") != "key_based" or setting(handle, "batching") is False:
            yield producer


def _numbered(producer: Producer) -> Says:
    taken = {frame.sequence_id or 0 for unit in producer.units for _, frame in unit.sends[1:]}
    for earlier, later in itertools.pairwise(unit for unit in producer.units if unit.numbers):
        if earlier.numbers[-1] >= later.numbers[0] or _is_overtaken(earlier):
            continue  # Resent in other batches, or out of order: judged by other requirements.
        between, last = later.numbers[0] - earlier.numbers[-1], last_id(earlier)
        step = later.sequence_id - last
        least = last if has_own_ids(earlier) else earlier.sequence_id
        if between == 1:
            yield Exercised(later.first)
        if later.sequence_id <= least:
            yield _differs("id-reused", earlier, later, "a greater id")
        elif step > between and step > between + sum(last < id < later.sequence_id for id in taken):
            yield _differs("id-skipped", earlier, later, f"{last + 1}")


def _unnumbered(timeline: Timeline, producer: Producer) -> Says:
    """Judge where every SEND can be matched with its send calls, and no message may overtake a batch."""
    handle, sends = timeline.handle(producer), timeline.sends_of(producer.handle)
    if handle in timeline.bursts or all(unit.numbers for unit in producer.units):
        return
    if any({"deliver_at_ms", "deliver_after_ms"} & send.invoke.args.keys() for send in sends):
        return
    timeline.check_whole(handle)
    asked, left = [send.invoke.seq for send in sends], 0
    earlier: Unit | None = None
    for later in producer.units:
        meta = later.first.meta
        left += later.first.messages if meta is None or not meta.chunk_id else 0
        if meta is None or meta.chunk_id is not None:
            earlier = None
            continue
        is_open = earlier is not None and not (earlier.numbers and later.numbers) and _can_be_read(earlier)
        if earlier is not None and is_open and _on_one_session(earlier, later):
            yield _compared(earlier, later, spare=bisect_left(asked, later.first.seq) - left)
        earlier = later


def _can_be_read(batch: Unit) -> bool:
    """Return whether it is known which messages have ids of their own: an unknown format does not show them."""
    return bool(batch.first.members) or batch.first.messages < 2


def _compared(earlier: Unit, later: Unit, spare: int) -> Exercised | Breach:
    """Compare two units. `spare`: number of messages that may have taken an id and have not left."""
    last = earlier.sequence_id + earlier.first.messages - 1
    step = later.sequence_id - last
    least = 1 if has_own_ids(earlier) else 2 - earlier.first.messages
    if least <= step <= 1 + max(spare, 0):
        return Exercised(later.first)
    expected = "a greater id than" if step < 1 else f"{last + 1}, since the message before it has"
    return breach(
        "id-reused" if step < 1 else "id-skipped",
        f"{later.line}: a message left at {ms(later.first.t_ns)} with sequence id {later.sequence_id}; expected "
        f"{expected} {last}",
        *(earlier.first, later.first),
    )


def _differs(code: str, earlier: Unit, later: Unit, expected: str) -> Breach:
    return breach(
        code,
        f"{later.line}: message {later.numbers[0]} left at {ms(later.first.t_ns)} with sequence id "
        f"{later.sequence_id}; expected {expected}, since message {earlier.numbers[-1]} has {last_id(earlier)}",
        *(earlier.first, later.first),
    )


def _is_overtaken(unit: Unit) -> bool:
    """Return whether messages sent between those of the batch left before it, with ids of their own."""
    return unit.numbers[-1] - unit.numbers[0] >= len(unit.numbers)


def _on_one_session(earlier: Unit, later: Unit) -> bool:
    return earlier.sends[0][0] is later.sends[0][0]
