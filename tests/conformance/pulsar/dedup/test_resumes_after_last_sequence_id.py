"""The check of `dedup.resumes-after-last-sequence-id`, both ways, on histories of a few lines."""

from __future__ import annotations

from typing import Any

import pytest
from tests.conformance.pulsar._trials import codes_of

from assay_conformance.checks.base import Check
from assay_conformance.checks.trial import trial
from assay_conformance.history.script import NAME, PRODUCER, Script
from assay_conformance.pulsar.checks.dedup.resumes_after_last_sequence_id import resumes_after_last_sequence_id


def _first_id(sequence_id: int, last: int = -1, **config: Any) -> Check:
    story = Script()
    story.producer(last_sequence_id=last, **config)
    story.send(0)
    story.send_frame(0, sequence_id=sequence_id)
    return trial(resumes_after_last_sequence_id, story.done())


def test_first_id_after_the_brokers_last_is_accepted() -> None:
    check = _first_id(42, last=41)
    assert (check.findings, check.exercised) == ([], 1)


def test_producer_that_ignores_the_brokers_last_id_is_found() -> None:
    assert codes_of(_first_id(0, last=41)) == ["starts-elsewhere"]


def test_configured_initial_id_goes_before_the_brokers() -> None:
    assert codes_of(_first_id(101, last=41, initial_sequence_id=100)) == []


def test_configured_initial_id_that_is_ignored_is_found() -> None:
    assert codes_of(_first_id(0, initial_sequence_id=0)) == ["starts-elsewhere"]


def test_negative_initial_id_means_none() -> None:
    assert codes_of(_first_id(42, last=41, initial_sequence_id=-1)) == []


@pytest.mark.parametrize(("sequence_id", "codes"), [(5, []), (0, ["starts-elsewhere"])])
def test_first_message_may_leave_behind_a_later_one_of_another_partition(sequence_id: int, codes: list[str]) -> None:
    """As with pulsar-client-go 0.12.1, each of whose partitions has a loop of its own."""
    story = Script()
    opening = story.invoke("open_producer", PRODUCER, args={"topic": "t"})
    story.connected()
    for partition in range(2):
        story.producer_ready(producer_id=partition, topic=f"t-partition-{partition}", last_sequence_id=4)
    story.complete(opening, producer_name=NAME)
    for number in range(2):
        story.send(number)
    story.send_frame(1, producer_id=1, sequence_id=5)
    story.send_frame(0, producer_id=0, sequence_id=sequence_id)
    check = trial(resumes_after_last_sequence_id, story.done())
    assert (codes_of(check), check.exercised) == (codes, 1)


def test_reconnected_producer_is_no_new_one() -> None:
    story = Script()
    story.producer()
    story.send(0)
    story.send_frame(0)
    story.cut()
    story.producer_again(1, last_sequence_id=7)
    story.send(1)
    story.send_frame(1, conn=1)
    assert codes_of(trial(resumes_after_last_sequence_id, story.done())) == []


def test_producer_that_reconnected_before_its_first_send_is_not_judged() -> None:
    story = Script()
    story.producer()
    story.cut()
    story.producer_again(1, last_sequence_id=7)
    story.send(0)
    story.send_frame(0, conn=1)
    assert trial(resumes_after_last_sequence_id, story.done()).exercised == 0
