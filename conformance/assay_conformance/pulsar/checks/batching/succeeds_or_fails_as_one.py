from __future__ import annotations

from assay_conformance.checks.lines import is_duplicate
from assay_conformance.model.event import Outcome
from assay_conformance.pulsar.timeline import Exercised, Says, Timeline, Unit, breach, check, each, ms


@check("batching.succeeds-or-fails-as-one")
def succeeds_or_fails_as_one(timeline: Timeline) -> Says:
    """batching.succeeds-or-fails-as-one: all messages of a batch end alike: each with success and its place in the
    entry, or none. A message that has not ended when the history does is not judged."""
    batches = [unit for unit in timeline.batches if len(unit.numbers) > 1]
    yield from each(batches, _end_alike, timeline)
    yield from each((unit for unit in batches if unit.receipts), _judge_places, timeline)


def _end_alike(timeline: Timeline, unit: Unit) -> Says:
    timeline.check_whole(unit.line.handle or 0)
    ends = [send.completion for send in timeline.sends(unit) if send.completion is not None]
    good, bad = ([end for end in ends if (end.outcome is Outcome.OK) is good] for good in (True, False))
    if good and bad:
        yield breach(
            "ends-differ",
            f"{unit.line}: expected one outcome for all messages of the batch at {ms(unit.first.t_ns)} (messages "
            f"{unit.numbers[0]} to {unit.numbers[-1]}); {len(good)} were reported as sent and {len(bad)} as "
            f"{bad[0].outcome}",
            *(unit.first, good[0], bad[0]),
        )
    elif len(ends) == len(unit.numbers):
        yield Exercised(unit.first)


def _judge_places(timeline: Timeline, unit: Unit) -> Says:
    """Judge the places of a batch's messages. An agent may leave out how many messages the batch has."""
    timeline.check_whole(unit.line.handle or 0)
    timeline.check_receipts(unit.line.handle or 0, unit.receipts[-1])
    named = [receipt.ids[0].position for receipt in unit.receipts if receipt.ids and not is_duplicate(receipt)]
    for index, send in enumerate(timeline.sends(unit)) if named else ():
        end = send.completion
        id = end.message_id if end is not None and end.outcome is Outcome.OK else None
        if end is None or id is None or id.is_duplicate_marker:
            continue
        place = f"{unit.line}: message {unit.numbers[index]} is number {index} of a batch of {len(unit.numbers)}"
        if id.batch_index != index or id.batch_size not in (0, len(unit.numbers)):
            of = f" of {id.batch_size}" if id.batch_size else ""
            came = f"it was reported as number {id.batch_index}{of} at {ms(end.t_ns)}"
            yield breach("wrong-place", f"{place}; {came}", unit.first, end)
        elif id.position not in named:
            came = f"its receipt named entry {named[0]}, and it was reported as {id.position}"
            yield breach("wrong-entry", f"{place}; {came}", unit.receipts[0], end)
