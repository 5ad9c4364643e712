"""The check of `dedup.effectively-once`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar._reopened_names import AGAIN, Story
from tests.conformance.pulsar._trials import codes_of
from tests.conformance.pulsar.dedup._histories import CASE, lost_receipt

from assay_conformance.checks.base import Check
from assay_conformance.checks.trial import trial
from assay_conformance.history.script import DUPLICATE, NAME, Script
from assay_conformance.model.case import Case, Topic, Topology
from assay_conformance.pulsar.checks.dedup.effectively_once import effectively_once


def _once(*more: int) -> Check:
    story = lost_receipt(2)
    for number in more:
        story.stored(number)
    for number in range(2):
        story.receipt(number, conn=1, id=DUPLICATE)
        story.ok(number)
    story.read_back()
    return trial(effectively_once, story.done(), CASE)


def test_each_message_once_and_in_order_is_accepted() -> None:
    check = _once()
    assert (check.findings, check.exercised) == ([], 2)


def test_message_stored_twice_is_found() -> None:
    assert codes_of(_once(1)) == ["stored-twice"]


def _stored(*numbers: int, **config: str | int) -> Check:
    story = Script()
    story.producer(**{"producer_name": "p", **config})  # type: ignore[arg-type]
    for number in range(3):
        story.send(number)
        story.send_frame(number)
    for number in numbers:
        story.stored(number)
    for number in range(2):
        story.receipt(number)
        story.ok(number)
    story.fail(2)
    story.read_back()
    return trial(effectively_once, story.done(), CASE)


def test_lost_message_is_found() -> None:
    assert codes_of(_stored(0)) == ["lost"]


def test_reordered_messages_are_found() -> None:
    assert codes_of(_stored(1, 0)) == ["reordered"]


def test_message_stored_though_it_failed_is_found() -> None:
    assert codes_of(_stored(0, 1, 2)) == ["stored-though-failed"]


def test_producer_with_a_chosen_first_id_is_not_judged() -> None:
    assert codes_of(_stored(0, initial_sequence_id=5)) == []


def test_producer_without_a_fixed_name_is_not_judged() -> None:
    story = Script()
    story.producer()
    story.send(0)
    story.ok(0)
    story.read_back()
    assert codes_of(trial(effectively_once, story.done(), CASE)) == []


DEDUPLICATED = Case(
    id="test/case",
    title="A history by hand",
    requirements=(),
    steps=(),
    topology=Topology(topics=(Topic(name="t", deduplication=True),)),
)


def test_two_producers_of_one_name_at_a_time_are_not_effectively_once() -> None:
    story = Story()
    story.producer(producer_name=NAME)
    story.cut()
    story.producer(AGAIN, conn=1, producer_id=1, producer_name=NAME)
    story.send(0, AGAIN)
    story.send_frame(0, handle=AGAIN, conn=1, producer_id=1)
    story.receipt(0, conn=1, producer_id=1, id=DUPLICATE)
    story.ok(0, AGAIN)
    assert story.judged(effectively_once, DEDUPLICATED) == []


def test_message_lost_by_the_second_producer_of_a_name_is_found() -> None:
    story = Story()
    story.producer(producer_name=NAME)
    story.close()
    story.reopened(producer_name=NAME)
    story.send(0, AGAIN)
    story.send_frame(0, handle=AGAIN, producer_id=1)
    story.receipt(0, producer_id=1, id=DUPLICATE)
    story.ok(0, AGAIN)
    assert story.judged(effectively_once, DEDUPLICATED) == ["lost"]
