"""The check of `seek.has-message-available-before-read`, both ways, on histories of a few lines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import msgspec
import pytest
from tests.conformance.pulsar._consuming import client
from tests.conformance.pulsar.seek._more_to_read import Reading

from assay_conformance.checks.trial import ANY_CASE, trial
from assay_conformance.history.script import CONSUMER
from assay_conformance.model.case import Step, Who
from assay_conformance.model.event import Fate, Sides, Stepped
from assay_conformance.pulsar.checks.seek.has_message_available_after_read import has_message_available_after_read
from assay_conformance.pulsar.checks.seek.has_message_available_before_read import has_message_available_before_read


class Passing(Reading):
    CONFIG: ClassVar[dict[str, Any]] = {"durable": False}


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
    assert story().says(any_there).judged(has_message_available_before_read) == ([], 1)
    assert story().says(not any_there).judged(has_message_available_before_read)[0] == [
        "says-more" if not any_there else "says-no-more"
    ]
    assert story().says(not any_there).judged(has_message_available_after_read) == ([], 0)


class Inclusive(Reading):
    """It was told to begin with the message it names."""

    def __init__(self, holds: int, *read: int) -> None:
        super().__init__(holds, *read)
        self.facts = client(initial_position="earliest", start_inclusive=True)


def test_time_to_come_is_the_end_for_a_reader_that_takes_what_it_names() -> None:
    assert Inclusive(3).seeks(publish_time_ms=10**12).says(True).judged(has_message_available_before_read)[0] == [
        "says-more"
    ]
    assert Inclusive(3).seeks(publish_time_ms=10**12).says(False).judged(has_message_available_before_read) == ([], 1)


def test_reader_that_takes_what_it_names_is_not_judged_behind_a_message_it_sought() -> None:
    assert Inclusive(3, 0).seeks(message_id=[1, 2, -1, -1, 0]).says(True).judged(has_message_available_before_read) == (
        [],
        0,
    )


def test_place_of_a_time_goes_with_a_subscription_that_is_not_durable() -> None:
    story = Passing(3, 0)
    story.seeks(publish_time_ms=10**12)
    for conn in (0, 1):
        story.connected(conn) if conn else story.down("CLOSE_CONSUMER", consumer_id=0)
        story.subscribed(conn, durable=False)
        story.cut(conn)
    assert story.says(True).judged(has_message_available_before_read) == ([], 0)


def test_what_was_damaged_on_its_way_need_not_be() -> None:
    story = Reading(1)
    story.message(0, fate=Fate.ALTERED, sides=Sides.RECEIVER, intact=False)
    assert story.says(False).judged(has_message_available_before_read) == ([], 0)


@pytest.mark.parametrize(
    "story",
    [lambda: Reading(3, begins="latest"), lambda: Reading(3, 0).seeks(publish_time_ms=10**12)],
    ids=["at-the-end", "time-to-come"],
)
def test_what_came_since_is_more(story: Callable[[], Reading]) -> None:
    assert story().comes(3).says(True).judged(has_message_available_before_read) == ([], 1)
    assert story().comes(3).says(False).judged(has_message_available_before_read)[0] == ["says-no-more"]


def test_what_came_while_it_was_asked_may_be_more_or_not() -> None:
    story = Reading(3, begins="latest")
    asked = story.invoke("has_message_available", CONSUMER, args={"consumer": CONSUMER})
    story.comes(3).complete(asked, values={"available": True})
    assert story.judged(has_message_available_before_read) == ([], 0)


STORES = msgspec.structs.replace(ANY_CASE, steps=(Step(Who.BENCH, "note"), Step(Who.BROKER, "store_entries")))


def _delivered_before_its_append_is_recorded(*answers: bool, storing: bool = True) -> tuple[list[str], int]:
    """A reader at the end is asked before a message is stored, and again after it came."""
    before, after = answers
    story = Reading(3, begins="latest").says(before)
    story.add(Stepped, step=0)
    story.stored(3, late=True)
    story.add(Stepped, step=1 if storing else 0)
    said = trial(has_message_available_before_read, story.says(after).done(), STORES, story.facts)
    return [finding.code for finding in said.findings], said.exercised


def test_what_is_delivered_before_its_append_is_recorded_was_stored_in_that_step() -> None:
    assert _delivered_before_its_append_is_recorded(False, True) == ([], 2)
    assert _delivered_before_its_append_is_recorded(True, False)[0] == ["says-more", "says-no-more"]


def test_when_a_message_was_stored_that_no_step_stored_when_it_was_seen_is_unknown() -> None:
    assert _delivered_before_its_append_is_recorded(True, False, storing=False) == ([], 0)


def test_reader_that_comes_back_at_the_end_begins_behind_what_came_in_between() -> None:
    story = Passing(3, begins="latest")
    story.comes(3)
    story.cut()
    story.connected(1)
    story.subscribed(1, durable=False)
    assert story.says(False).judged(has_message_available_before_read) == ([], 0)


@pytest.mark.parametrize("begins", ["earliest", "latest"])
def test_topic_without_messages_has_none_for_a_reader_that_takes_what_it_names(begins: str) -> None:
    def asked() -> Reading:
        story = Inclusive(0)
        story.facts = client(initial_position=begins, start_inclusive=True)
        return story

    assert asked().says(True).judged(has_message_available_before_read)[0] == ["says-more"]
    assert asked().says(False).judged(has_message_available_before_read) == ([], 1)
