"""What a reader says of whether there is more, both ways, on histories of a few lines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import pytest
from tests.conformance.checks.consuming import Consuming, client

from assay_conformance.checks.seek.bits import BatchBits
from assay_conformance.checks.seek.more_to_read import KnowsWhetherAny, KnowsWhetherMore
from assay_conformance.history.script import CONSUMER
from assay_conformance.model.event import Fate, Sides


class Reading(Consuming):
    """A reader of a topic that holds so many messages, with publish times a second apart, has read some of them."""

    def __init__(self, holds: int, *read: int, begins: str = "earliest") -> None:
        super().__init__("Exclusive", initial_position=begins)
        for number in range(holds):
            self.stored(number)
        self.gets(*read)

    def says(self, available: bool) -> Reading:
        invoke = self.invoke("has_message_available", CONSUMER, args={"consumer": CONSUMER})
        self.complete(invoke, values={"available": available})
        return self

    def seeks(self, **target: object) -> Reading:
        self.complete(self.invoke("seek", CONSUMER, args=target))
        return self


class Passing(Reading):
    CONFIG: ClassVar[dict[str, Any]] = {"durable": False}


@pytest.mark.parametrize(
    ("story", "more"),
    [
        (lambda: Reading(3, 0, 1), True),
        (lambda: Reading(3, 0, 1, 2), False),
    ],
    ids=["half-way", "read"],
)
def test_reader_that_knows_is_told_from_one_that_does_not(story: Callable[[], Reading], more: bool) -> None:
    assert story().says(more).judged(KnowsWhetherMore) == ([], 1)
    assert story().says(not more).judged(KnowsWhetherMore)[0] == ["says-no-more" if more else "says-more"]
    assert story().says(not more).judged(KnowsWhetherAny) == ([], 0)


@pytest.mark.parametrize(
    ("story", "any_there"),
    [
        (lambda: Reading(3), True),
        (lambda: Reading(0), False),
        (lambda: Reading(3, begins="latest"), False),
        (lambda: Reading(3, 0, 1, 2).seeks(message_id=[1, 1, -1, -1, 0]), True),
        (lambda: Reading(3, 0).seeks(message_id=[1, 2, -1, -1, 0]), False),
        (lambda: Reading(3, 0, 1, 2).seeks(publish_time_ms=0), True),
        (lambda: Reading(3, 0).seeks(publish_time_ms=10**12), False),
    ],
    ids=["first", "empty", "at-the-end", "sought", "sought-last", "time-of-all", "time-to-come"],
)
def test_reader_that_knows_what_lies_ahead_is_told_from_one_that_does_not(
    story: Callable[[], Reading], any_there: bool
) -> None:
    assert story().says(any_there).judged(KnowsWhetherAny) == ([], 1)
    assert story().says(not any_there).judged(KnowsWhetherAny)[0] == ["says-more" if not any_there else "says-no-more"]
    assert story().says(not any_there).judged(KnowsWhetherMore) == ([], 0)


class Inclusive(Reading):
    """It was told to begin with the message it names."""

    def __init__(self, holds: int, *read: int) -> None:
        super().__init__(holds, *read)
        self.facts = client(initial_position="earliest", start_inclusive=True)


def test_time_to_come_is_the_end_for_a_reader_that_takes_what_it_names() -> None:
    assert Inclusive(3).seeks(publish_time_ms=10**12).says(True).judged(KnowsWhetherAny)[0] == ["says-more"]
    assert Inclusive(3).seeks(publish_time_ms=10**12).says(False).judged(KnowsWhetherAny) == ([], 1)


def test_reader_that_takes_what_it_names_is_not_judged_behind_a_message_it_sought() -> None:
    assert Inclusive(3, 0).seeks(message_id=[1, 2, -1, -1, 0]).says(True).judged(KnowsWhetherAny) == ([], 0)


def test_place_of_a_time_goes_with_a_subscription_that_is_not_durable() -> None:
    story = Passing(3, 0)
    story.seeks(publish_time_ms=10**12)
    for conn in (0, 1):
        story.connected(conn) if conn else story.down("CLOSE_CONSUMER", consumer_id=0)
        story.subscribed(conn, durable=False)
        story.cut(conn)
    assert story.says(True).judged(KnowsWhetherAny) == ([], 0)


def test_copy_that_a_fault_made_is_there_to_be_read() -> None:
    story = Reading(1, 0)
    story.message(0, fate=Fate.DUPLICATED)
    assert story.says(True).judged(KnowsWhetherMore) == ([], 0)


def test_what_was_damaged_on_its_way_need_not_be() -> None:
    story = Reading(1)
    story.message(0, fate=Fate.ALTERED, sides=Sides.RECEIVER, intact=False)
    assert story.says(False).judged(KnowsWhetherAny) == ([], 0)


def test_answer_during_a_receive_is_not_judged() -> None:
    story = Reading(3, 0, 1)
    story.invoke("receive", CONSUMER, args={"consumer": CONSUMER, "count": 1})
    assert story.says(False).judged(KnowsWhetherMore) == ([], 0)


def test_answer_about_a_topic_that_somebody_writes_to_is_not_judged() -> None:
    story = Reading(3, 0, 1, 2).says(True)
    story.producer(conn=1)
    story.send_frame(3)
    assert story.judged(KnowsWhetherMore) == ([], 0)


# --- seek.into-batch-carries-ack-set ---


def _sought_into_a_batch(*ack_set: int) -> Consuming:
    story = Consuming("Exclusive")
    story.gets_batch(0, 5)
    story.invoke("seek", CONSUMER, args={"message_id": [1, 0, -1, 2, 5]})
    story.up("SEEK", consumer_id=0, request_id=99, ack_sets=(ack_set,) if ack_set else ())
    return story


def test_seek_into_a_batch_names_what_is_behind() -> None:
    assert _sought_into_a_batch(0b11100).judged(BatchBits) == ([], 1)


@pytest.mark.parametrize("ack_set", [(), (0b11000,), (0b00011,)], ids=["none", "one-too-few", "reversed"])
def test_seek_into_a_batch_that_names_something_else_is_found(ack_set: tuple[int, ...]) -> None:
    assert _sought_into_a_batch(*ack_set).judged(BatchBits)[0] == ["wrong-bits"]


def test_bits_of_a_seek_that_had_company_are_anybodys() -> None:
    story = Consuming("Exclusive")
    story.gets_batch(0, 5)
    story.invoke("seek", CONSUMER, args={"message_id": [1, 0, -1, 2, 5]})
    story.invoke("seek", CONSUMER, args={"message_id": [1, 0, -1, 4, 5]})
    story.up("SEEK", consumer_id=0, request_id=99, ack_sets=((0b11100,),))
    assert story.judged(BatchBits) == ([], 0)
