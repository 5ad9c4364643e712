"""A second seek beside another, both ways, on histories of a few lines."""

from __future__ import annotations

import pytest

from assay_conformance.checks.trial import trial
from assay_conformance.history.script import CONSUMER, Script
from assay_conformance.model.event import Outcome
from assay_conformance.pulsar.checks.seek.one_at_a_time import one_at_a_time


def _judged(story: Script) -> tuple[list[str], int]:
    said = trial(one_at_a_time, story.done())
    return [finding.code for finding in said.findings], said.exercised


def _two_seeks(outcome: Outcome) -> Script:
    story = Script()
    story.consumer()
    first = story.invoke("seek", CONSUMER, args={"publish_time_ms": 1})
    second = story.invoke("seek", CONSUMER, args={"publish_time_ms": 2})
    story.complete(second, outcome)
    story.after(100)
    story.complete(first)
    return story


def test_second_seek_is_refused() -> None:
    assert _judged(_two_seeks(Outcome.FAIL)) == ([], 1)


def test_second_seek_that_is_taken_is_found() -> None:
    assert _judged(_two_seeks(Outcome.OK))[0] == ["taken-beside-another"]


@pytest.mark.parametrize(("partition", "codes"), [(1, []), (0, ["taken-beside-another"])])
def test_seeks_to_messages_of_two_partitions_may_both_be_taken(partition: int, codes: list[str]) -> None:
    story = Script()
    story.consumer()
    first = story.invoke("seek", CONSUMER, args={"message_id": [1, 0, 0, -1, 0]})
    second = story.invoke("seek", CONSUMER, args={"message_id": [1, 1, partition, -1, 0]})
    story.complete(second)
    story.after(100)
    story.complete(first)
    assert _judged(story)[0] == codes


def test_seek_behind_another_is_not_judged() -> None:
    story = Script()
    story.consumer()
    story.complete(story.invoke("seek", CONSUMER, args={"publish_time_ms": 1}))
    story.complete(story.invoke("seek", CONSUMER, args={"publish_time_ms": 2}))
    assert _judged(story) == ([], 0)


def test_first_seek_may_have_ended_before_the_second_was_called() -> None:
    story = Script()
    story.consumer()
    first = story.invoke("seek", CONSUMER, args={"publish_time_ms": 1})
    second = story.invoke("seek", CONSUMER, args={"publish_time_ms": 2})
    story.complete(first, done_ns=first.t_ns)
    story.after(100)
    story.complete(second)
    assert _judged(story) == ([], 0)
