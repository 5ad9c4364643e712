"""The check of `topics.finds-added-partitions`, both ways, on histories of a few lines."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from tests.conformance.pulsar._trials import codes_of

from assay_conformance.checks.base import Check
from assay_conformance.checks.trial import ANY_CASE, ANY_CLIENT, trial
from assay_conformance.history.script import Script
from assay_conformance.model.case import Rate, Step, Topic, Topology, Who
from assay_conformance.model.event import Sides, Stepped
from assay_conformance.pulsar.checks.topics.finds_added_partitions import finds_added_partitions


def _grown(*found_ms: int) -> Check:
    """A topic of one partition gets two more at 1 s, and its producer looks every 300 ms."""
    story = Script()
    story.producer(topic="t-partition-0", partitions_update_ms=300)
    for ms, number in sorted([(1_000, 0), *((ms, number) for number, ms in enumerate(found_ms, start=1))]):
        story.at(ms)
        if number:
            story.producer_ready(producer_id=number, topic=f"t-partition-{number}")
        else:
            story.add(Stepped, step=0)
    return _of_growth(story)


def _of_growth(story: Script, **topic: Any) -> Check:
    grow = Step(Who.BROKER, "grow", {"topic": "t", "partitions": 3})
    topology = Topology(topics=(Topic(name="t", partitions=1, **topic),))
    case = msgspec.structs.replace(ANY_CASE, steps=(grow,), topology=topology)
    facts = msgspec.structs.replace(
        ANY_CLIENT, settable=frozenset({"partitions_update_ms", "lazy_start_partitioned_producers"})
    )
    return trial(finds_added_partitions, story.at(9_000).done(), case, facts)


@pytest.mark.parametrize("found_ms", [(1_200, 1_250), (900, 1_250), (900, 950)], ids=str)
def test_producer_that_finds_all_partitions_in_time_is_accepted(found_ms: tuple[int, ...]) -> None:
    check = _grown(*found_ms)
    assert (check.findings, check.exercised) == ([], 1)


def test_broker_that_reads_on_late_may_hear_late_of_who_looks() -> None:
    story = Script()
    story.producer(topic="t-partition-0", partitions_update_ms=300)
    story.at(1_000).add(Stepped, step=0)
    assert codes_of(_of_growth(story, publish_rate=Rate(messages=5))) == []


def test_producer_that_starts_lazily_need_not_register_with_what_it_does_not_use() -> None:
    story = Script()
    story.producer(topic="t-partition-0", partitions_update_ms=300, lazy_start_partitioned_producers=True)
    story.at(1_000).add(Stepped, step=0)
    check = _of_growth(story)
    assert (check.findings, check.exercised) == ([], 0)


def test_an_answer_that_was_held_back_counts_when_it_comes() -> None:
    story = Script()
    story.producer(topic="t-partition-0", partitions_update_ms=300)
    story.at(1_000).add(Stepped, step=0)
    for number in (1, 2):
        asked = story.at(1_200).producer_asks(producer_id=number, topic=f"t-partition-{number}")
        for at_ms, sides in ((1_210, Sides.SENDER), (1_300, Sides.RECEIVER)):
            story.at(at_ms + 200 * number).down("PRODUCER_SUCCESS", request_id=asked.request_id, sides=sides)
    assert codes_of(_of_growth(story)) == []


@pytest.mark.parametrize(("action", "codes"), [("hold", []), ("duplicate", ["not-found"])])
def test_who_has_its_request_held_back_has_found_it(action: str, codes: list[str]) -> None:
    story = Script()
    story.producer(topic="t-partition-0", partitions_update_ms=300)
    story.at(1_000).add(Stepped, step=0)
    story.at(1_200).fired(action=action)
    assert codes_of(_of_growth(story)) == codes


def test_producer_that_a_partition_refuses_need_not_come_back() -> None:
    story = Script()
    story.producer(topic="t-partition-0", partitions_update_ms=300)
    story.at(1_000).add(Stepped, step=0)
    asked = story.at(1_100).producer_asks(producer_id=1, topic="t-partition-1")
    story.down("ERROR", request_id=asked.request_id, fields={"error": "TopicTerminatedError"})
    assert codes_of(_of_growth(story)) == []


@pytest.mark.parametrize(("error", "codes"), [("NotAllowedError", []), ("TooManyRequests", ["not-found"])])
def test_partition_that_cannot_be_looked_up_is_not_owed(error: str, codes: list[str]) -> None:
    story = Script()
    story.producer(topic="t-partition-0", partitions_update_ms=300)
    story.at(1_000).add(Stepped, step=0)
    story.at(1_100).up("LOOKUP", request_id=9, fields={"topic": f"{story.full('t')}-partition-1"})
    story.down("LOOKUP_RESPONSE", request_id=9, fields={"response": "Failed", "error": error})
    assert codes_of(_of_growth(story)) == codes


def test_producer_that_is_refused_the_number_of_partitions_asks_again_an_interval_later() -> None:
    story = Script()
    story.producer(topic="t-partition-0", partitions_update_ms=300)
    story.at(1_000).add(Stepped, step=0)
    story.at(1_100).up("PARTITIONED_METADATA", request_id=9, fields={"topic": story.full("t")})
    story.down(
        "PARTITIONED_METADATA_RESPONSE", request_id=9, fields={"response": "Failed", "error": "AuthenticationError"}
    )
    assert codes_of(_of_growth(story)) == []


@pytest.mark.parametrize("found_ms", [(), (1_200,), (1_200, 5_000)], ids=str)
def test_producer_that_finds_some_of_them_late_or_never_is_found(found_ms: tuple[int, ...]) -> None:
    assert codes_of(_grown(*found_ms)) == ["not-found"]
