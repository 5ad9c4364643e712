"""Consumer epochs, both ways, on histories of a few lines."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from tests.conformance.pulsar._consuming import Consuming

from assay_conformance.history.script import CONSUMER, NAME
from assay_conformance.model.event import Fate, Meta, Sides
from assay_conformance.pulsar.checks.ordering.old_consumer_epoch_dropped import old_consumer_epoch_dropped


def _asking_again(kind: str = "Exclusive") -> Consuming:
    """Everything is asked for again while message 1 is on its way."""
    story = Consuming(kind)
    story.gets(0)
    story.redeliver_frame(fields={"consumer_epoch": 1})
    story.after(50)
    story.message(1, fields={"consumer_epoch": 0})
    return story


def test_first_unacknowledged_message_comes_first() -> None:
    story = _asking_again()
    for entry in (0, 1):
        story.message(entry, fields={"consumer_epoch": 1})
        story.received(entry)
    assert story.judged(old_consumer_epoch_dropped) == ([], 2)


def test_message_that_came_twice_and_was_handed_over_twice_is_not_due_any_more() -> None:
    story = _asking_again()
    for entry in (0, 0, 1):
        story.message(entry, fields={"consumer_epoch": 1})
    for entry in (0, 0, 1):
        story.received(entry)
    assert story.judged(old_consumer_epoch_dropped)[0] == []


def test_message_of_an_old_epoch_is_found() -> None:
    story = _asking_again()
    story.received(1)
    assert story.judged(old_consumer_epoch_dropped)[0] == ["stale-delivery"]


def test_message_of_an_old_epoch_on_a_shared_subscription_may_be_received() -> None:
    story = _asking_again("Shared")
    story.received(1)
    assert story.judged(old_consumer_epoch_dropped) == ([], 0)


@pytest.mark.parametrize(("reads", "codes"), [(True, []), (False, ["stale-delivery"])])
def test_what_a_reader_has_read_need_not_come_first(reads: bool, codes: list[str]) -> None:
    story = _asking_again()
    if reads:
        story.as_reader()
    for entry in (0, 1):
        story.message(entry, fields={"consumer_epoch": 1})
    story.received(1)
    assert story.judged(old_consumer_epoch_dropped)[0] == codes


def test_what_a_cumulative_acknowledgment_settled_need_not_come_first() -> None:
    story = Consuming("Exclusive")
    story.gets(0, 1)
    story.message(2)
    story.ack(2, cumulative=True)
    story.redeliver_frame(fields={"consumer_epoch": 1})
    story.after(50)
    for entry in (0, 1, 2):
        story.message(entry, fields={"consumer_epoch": 1})
    story.received(2)
    assert story.judged(old_consumer_epoch_dropped) == ([], 1)


def test_what_was_acknowledged_when_it_had_come_again_may_be_handed_over() -> None:
    story = Consuming("Exclusive")
    story.gets(1)
    story.message(0)
    story.redeliver_frame(fields={"consumer_epoch": 1})
    story.after(50)
    story.message(0, fields={"consumer_epoch": 1})
    story.message(1, fields={"consumer_epoch": 1})
    story.ack(1, cumulative=True)
    story.received(0)
    story.received(1)
    assert story.judged(old_consumer_epoch_dropped) == ([], 2)


def test_a_chunk_that_is_not_the_last_is_not_handed_over_by_itself() -> None:
    story = Consuming("Exclusive")
    story.message(3)
    story.redeliver_frame(fields={"consumer_epoch": 1})
    story.after(50)
    chunk = Meta(producer_name=NAME, sequence_id=2, uuid="p-2", chunk_id=0, chunks=2)
    story.message(2, meta=chunk, members=(), fields={"consumer_epoch": 1})
    story.message(3, meta=msgspec.structs.replace(chunk, chunk_id=1), fields={"consumer_epoch": 1})
    story.received(3)
    assert story.judged(old_consumer_epoch_dropped) == ([], 1)


def _behind_what_did_not_come_up(**told: Any) -> Consuming:
    """Entry 0 came ahead of entry 1 in the new epoch, and is not delivered."""
    story = Consuming("Exclusive")
    story.message(1)
    story.redeliver_frame(fields={"consumer_epoch": 1})
    story.after(50)
    story.message(0, fields={"consumer_epoch": 1}, **told)
    story.message(1, fields={"consumer_epoch": 1})
    return story


def test_message_ahead_of_one_that_is_due_is_found() -> None:
    story = _behind_what_did_not_come_up()
    story.received(1)
    assert story.judged(old_consumer_epoch_dropped)[0] == ["stale-delivery"]


@pytest.mark.parametrize("told", [{"fate": Fate.ALTERED, "sides": Sides.RECEIVER}, {"members": ()}])
def test_what_a_client_may_have_to_drop_is_not_due(told: dict[str, Any]) -> None:
    story = _behind_what_did_not_come_up(**told)
    story.received(1)
    assert story.judged(old_consumer_epoch_dropped) == ([], 1)


def test_what_was_sought_is_not_due() -> None:
    story = _behind_what_did_not_come_up()
    story.complete(story.invoke("seek", CONSUMER, args={"message_id": [1, 0, -1, -1, 0]}))
    story.received(1)
    assert story.judged(old_consumer_epoch_dropped)[0] == []


def test_neither_is_the_last_of_chunks_the_others_of_which_are_missing() -> None:
    story = _behind_what_did_not_come_up(meta=Meta(producer_name=NAME, sequence_id=0, uuid="p-0", chunk_id=1, chunks=2))
    story.received(1)
    assert story.judged(old_consumer_epoch_dropped) == ([], 1)


def test_prefetched_message_of_before_is_found() -> None:
    story = Consuming("Exclusive")
    story.gets(0)
    story.message(1)
    story.redeliver_frame(fields={"consumer_epoch": 1})
    story.after(50)
    story.received(1)
    assert story.judged(old_consumer_epoch_dropped)[0] == ["stale-delivery"]


def test_client_without_epochs_is_not_judged() -> None:
    story = Consuming("Exclusive")
    story.gets(0)
    story.message(1)
    story.redeliver_frame()
    story.after(50)
    story.received(1)
    assert story.judged(old_consumer_epoch_dropped) == ([], 0)
