"""The check of `seek.has-message-available-after-read`, both ways, on histories of a few lines."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.conformance.pulsar.seek._more_to_read import Reading

from assay_conformance.history.script import CONSUMER
from assay_conformance.model.event import Fate
from assay_conformance.pulsar.checks.seek.has_message_available_after_read import has_message_available_after_read
from assay_conformance.pulsar.checks.seek.has_message_available_before_read import has_message_available_before_read


@pytest.mark.parametrize(
    ("story", "more"),
    [
        (lambda: Reading(3, 0, 1), True),
        (lambda: Reading(3, 0, 1, 2), False),
    ],
    ids=["half-way", "read"],
)
def test_reader_that_knows_is_told_from_one_that_does_not(story: Callable[[], Reading], more: bool) -> None:
    assert story().says(more).judged(has_message_available_after_read) == ([], 1)
    code = "says-no-more" if more else "says-more"
    assert story().says(not more).judged(has_message_available_after_read)[0] == [code]
    assert story().says(not more).judged(has_message_available_before_read) == ([], 0)


@pytest.mark.parametrize(("came", "codes"), [((), ["says-no-more"]), ((2, 3), []), ((2,), ["says-no-more"])])
def test_handler_may_be_called_already_with_all_that_has_come(came: tuple[int, ...], codes: list[str]) -> None:
    story = Reading(4, 0, 1, listens=True)
    for number in came:
        story.message(number)
    assert story.says(False).judged(has_message_available_after_read)[0] == codes


def test_copy_that_a_fault_made_is_there_to_be_read() -> None:
    story = Reading(1, 0)
    story.message(0, fate=Fate.DUPLICATED)
    assert story.says(True).judged(has_message_available_after_read) == ([], 0)


def test_answer_during_a_receive_is_not_judged() -> None:
    story = Reading(3, 0, 1)
    story.invoke("receive", CONSUMER, args={"consumer": CONSUMER, "count": 1})
    assert story.says(False).judged(has_message_available_after_read) == ([], 0)


def test_answer_about_a_topic_that_somebody_writes_to_is_not_judged() -> None:
    story = Reading(3, 0, 1, 2).says(True)
    story.producer(conn=1)
    story.send_frame(3)
    assert story.judged(has_message_available_after_read) == ([], 0)
