"""What tells things apart, both ways: ids of requests, names from the broker, the one id of a cumulative ACK."""

from __future__ import annotations

import pytest

from assay_conformance.checks.ack import CumulativeNamesOne
from assay_conformance.checks.base import Check
from assay_conformance.checks.identities import AssignedNamesDiffer, RequestIdsDiffer
from assay_conformance.checks.trial import trial
from assay_conformance.history.script import Script
from assay_conformance.model.event import Opened


def _judged(story: Script, check: type[Check]) -> tuple[list[str], int]:
    said = trial(check, story.done())
    return [finding.code for finding in said.findings], said.exercised


def _requests(*ids: int, conns: tuple[int, ...] = (0, 0, 0)) -> Script:
    story = Script()
    for number, conn in zip(ids, conns, strict=False):
        story.up("LOOKUP", conn, request_id=number)
    return story


def test_requests_with_ids_of_their_own_are_accepted() -> None:
    assert _judged(_requests(0, 1, 2), RequestIdsDiffer) == ([], 2)


def test_request_id_that_comes_again_is_found() -> None:
    assert _judged(_requests(0, 1, 0), RequestIdsDiffer) == (["used-twice"], 1)


def _came_back(*asked: tuple[str, int], url: str = "pulsar://b:0") -> Script:
    """A topic goes to another cluster; then these are asked for over a new connection, to the one that was known."""
    story = Script()
    story.add(Opened, conn=0, url="pulsar://b:0")
    story.down("TOPIC_MIGRATED", fields={"brokerServiceUrl": url, "resource_type": "Producer", "resource_id": 0})
    story.cut()
    story.add(Opened, conn=1, url="pulsar://b:0")
    for command, number in asked:
        story.up(command, 1, request_id=number)
    return story


def test_lookups_at_a_cluster_that_a_topic_went_to_are_counted_anew() -> None:
    story = Script()
    url = "pulsar://b:0"
    story.add(Opened, conn=0, url=url)
    story.up("LOOKUP", request_id=1)
    story.down("TOPIC_MIGRATED", fields={"brokerServiceUrl": url, "resource_type": "Producer", "resource_id": 0})
    story.up("LOOKUP", request_id=1)
    assert _judged(story, RequestIdsDiffer)[0] == []


@pytest.mark.parametrize("first", ["LOOKUP", "PARTITIONED_METADATA"])
def test_lookups_at_a_cluster_that_was_known_before_are_counted_side_by_side(first: str) -> None:
    story = _came_back((first, 6), ("LOOKUP", 2), ("PARTITIONED_METADATA", 7), ("LOOKUP", 6), ("LOOKUP", 7))
    assert _judged(story, RequestIdsDiffer) == ([], 4)


@pytest.mark.parametrize(
    ("asked", "url"),
    [
        ((("LOOKUP", 6), ("LOOKUP", 6), ("LOOKUP", 6)), "pulsar://b:0"),
        ((("PARTITIONED_METADATA", 6), ("PARTITIONED_METADATA", 6)), "pulsar://b:0"),
        ((("PRODUCER", 6), ("SUBSCRIBE", 6)), "pulsar://b:0"),
        ((("LOOKUP", 6), ("LOOKUP", 6)), "pulsar://b:1"),
    ],
    ids=["three", "no brokers looked up", "no lookups", "another cluster"],
)
def test_request_id_that_comes_again_where_a_topic_went_is_found(asked: tuple[tuple[str, int], ...], url: str) -> None:
    assert _judged(_came_back(*asked, url=url), RequestIdsDiffer)[0] == ["used-twice"]


def test_another_connection_may_use_the_same_ids() -> None:
    assert _judged(_requests(0, 0, conns=(0, 1)), RequestIdsDiffer) == ([], 0)


def test_lookups_may_be_counted_apart() -> None:
    story = _requests(0)
    story.up("PRODUCER", request_id=0, producer_id=0)
    assert _judged(story, RequestIdsDiffer) == ([], 1)


def _named(*names: str, asked: str = "", topics: tuple[str, ...] = ("t", "t")) -> Script:
    story = Script()
    for number, (name, topic) in enumerate(zip(names, topics, strict=True)):
        request = story.producer_asks(producer_id=number, topic=topic, name=asked)
        story.down("PRODUCER_SUCCESS", request_id=request.request_id, fields={"producer_name": name})
    return story


def test_different_names_are_accepted() -> None:
    assert _judged(_named("a-1", "a-2"), AssignedNamesDiffer) == ([], 1)


def test_name_that_is_given_twice_is_found() -> None:
    assert _judged(_named("a-1", "a-1"), AssignedNamesDiffer) == (["given-twice"], 0)


def test_name_that_a_producer_brings_is_its_own_business() -> None:
    assert _judged(_named("a-1", "a-1", asked="a-1"), AssignedNamesDiffer) == ([], 0)


def test_names_of_two_topics_are_not_compared() -> None:
    assert _judged(_named("a-1", "a-1", topics=("t", "u")), AssignedNamesDiffer) == ([], 0)


def test_producer_that_waited_is_told_its_name_twice() -> None:
    story = _named("a-1", topics=("t",))
    story.down("PRODUCER_SUCCESS", request_id=0, fields={"producer_name": "a-1"})
    assert _judged(story, AssignedNamesDiffer)[0] == []


def _acked(*entries: int, kind: str = "Cumulative") -> Script:
    story = Script()
    story.consumer()
    story.ack_frame(*entries, ack_type=kind)
    return story


def test_cumulative_ack_of_one_message_is_accepted() -> None:
    assert _judged(_acked(3), CumulativeNamesOne) == ([], 1)


def test_cumulative_ack_of_several_messages_is_found() -> None:
    assert _judged(_acked(1, 3), CumulativeNamesOne) == (["several-ids"], 0)


def test_individual_acks_may_name_many() -> None:
    assert _judged(_acked(1, 3, kind="Individual"), CumulativeNamesOne) == ([], 0)
