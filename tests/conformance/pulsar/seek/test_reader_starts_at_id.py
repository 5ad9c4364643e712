"""The check of `seek.reader-starts-at-id`, both ways, on histories of a few lines."""

from __future__ import annotations

import msgspec
import pytest
from tests.conformance.pulsar._consuming import Consuming

from assay_conformance.history.script import entry_id
from assay_conformance.model.event import Fate, Invoke, MessageId, Sides
from assay_conformance.pulsar.checks.seek.reader_starts_at_id import reader_starts_at_id


def opened(id: MessageId, *, inclusive: bool = False) -> Consuming:
    """A reader is opened at a message of a topic that holds a batch of three and two single messages."""
    story = Consuming("Exclusive", start_inclusive=inclusive)
    began, opening, *rest = story.events
    assert isinstance(opening, Invoke)
    args = {**opening.args, "start_message_id": list(msgspec.structs.astuple(id))}
    story.events = [began]
    story.stored(0, 1, 2, entry=0, batch=True)
    story.stored(3, entry=1)
    story.stored(4, entry=2)
    story.events += [msgspec.structs.replace(opening, args=args), *rest]
    story.events = [msgspec.structs.replace(event, seq=seq) for seq, event in enumerate(story.events)]
    story.as_reader()
    return story


@pytest.mark.parametrize(
    ("id", "inclusive", "index", "codes"),
    [
        (entry_id(0, 0, 3), False, 1, []),
        (entry_id(0, 0, 3), True, 0, []),
        (entry_id(0, 0, 3), False, 0, ["wrong-start"]),
        (entry_id(0, 0, 3), False, 2, ["wrong-start"]),
    ],
)
def test_reader_begins_after_the_message_or_with_it(
    id: MessageId, inclusive: bool, index: int, codes: list[str]
) -> None:
    story = opened(id, inclusive=inclusive)
    story.gets_batch(0, 3, only=(index,))
    assert story.judged(reader_starts_at_id) == (codes, 0 if codes else 1)


def test_reader_that_leaves_the_rest_of_a_batch_out_is_found() -> None:
    story = opened(entry_id(0, 0, 3))
    story.gets(3)
    assert story.judged(reader_starts_at_id)[0] == ["wrong-start"]


def test_message_that_a_fault_dropped_may_be_missing() -> None:
    story = opened(entry_id(0, 2, 3))
    story.message(3, entry=1, sides=Sides.SENDER, fate=Fate.DROPPED)
    story.gets(4)
    assert story.judged(reader_starts_at_id) == ([], 0)
