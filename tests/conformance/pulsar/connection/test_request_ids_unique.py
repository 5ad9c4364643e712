"""The check of `connection.request-ids-unique`, both ways, on histories of a few lines."""

from __future__ import annotations

import pytest
from tests.conformance.pulsar._identity import judged

from assay_conformance.history.script import Script
from assay_conformance.model.event import Opened
from assay_conformance.pulsar.checks.connection.request_ids_unique import request_ids_unique


def _requests(*ids: int, conns: tuple[int, ...] = (0, 0, 0)) -> Script:
    story = Script()
    for number, conn in zip(ids, conns, strict=False):
        story.up("LOOKUP", conn, request_id=number)
    return story


def test_requests_with_ids_of_their_own_are_accepted() -> None:
    assert judged(_requests(0, 1, 2), request_ids_unique) == ([], 2)


def test_request_id_that_comes_again_is_found() -> None:
    assert judged(_requests(0, 1, 0), request_ids_unique) == (["used-twice"], 1)


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
    assert judged(story, request_ids_unique)[0] == []


@pytest.mark.parametrize("first", ["LOOKUP", "PARTITIONED_METADATA"])
def test_lookups_at_a_cluster_that_was_known_before_are_counted_side_by_side(first: str) -> None:
    story = _came_back((first, 6), ("LOOKUP", 2), ("PARTITIONED_METADATA", 7), ("LOOKUP", 6), ("LOOKUP", 7))
    assert judged(story, request_ids_unique) == ([], 4)


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
    assert judged(_came_back(*asked, url=url), request_ids_unique)[0] == ["used-twice"]


def test_another_connection_may_use_the_same_ids() -> None:
    assert judged(_requests(0, 0, conns=(0, 1)), request_ids_unique) == ([], 0)


def test_lookups_may_be_counted_apart() -> None:
    story = _requests(0)
    story.up("PRODUCER", request_id=0, producer_id=0)
    assert judged(story, request_ids_unique) == ([], 1)


def _asked_twice(*, answered: bool, then: str = "public/default", command: str = "GET_TOPICS_OF_NAMESPACE") -> Script:
    story = _requests(0)
    story.up(command, request_id=1, fields={"namespace": "public/default"})
    if answered:
        story.down("ERROR", request_id=1)
    story.up(command, request_id=1, fields={"namespace": then})
    return story


def test_lookup_that_was_answered_may_be_asked_again_with_its_id() -> None:
    assert judged(_asked_twice(answered=True), request_ids_unique) == ([], 2)


@pytest.mark.parametrize(
    "story",
    [
        _asked_twice(answered=False),
        _asked_twice(answered=True, then="public/other"),
        _asked_twice(answered=True, command="PRODUCER"),
    ],
    ids=["no answer yet", "another question", "no lookup"],
)
def test_any_other_request_with_the_id_of_one_before_is_found(story: Script) -> None:
    assert judged(story, request_ids_unique)[0] == ["used-twice"]
