"""Topics of a namespace: asked for, filtered, and watched."""

from __future__ import annotations

from typing import Any

import pytest
from tests.conformance.broker.bench import Bench, C

from assay_conformance.broker.listing import topics_hash
from assay_conformance.model.case import Topic, Topology
from assay_conformance.wire.pulsar_pb2 import ServerError

NAMESPACE = "public/default"
PREFIX = f"persistent://{NAMESPACE}/"


def _bench() -> Bench:
    bench = Bench(topology=Topology(topics=(Topic(name="a1"), Topic(name="a2"), Topic(name="b", partitions=2))))
    bench.connect()
    return bench


def _list(bench: Bench, **fields: Any) -> Any:
    return bench.ask(C.GET_TOPICS_OF_NAMESPACE, namespace=NAMESPACE, **fields).body


def _short(names: Any) -> list[str]:
    return [name.removeprefix(PREFIX) for name in names]


ALL = ["a1", "a2", "b-partition-0", "b-partition-1"]


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        (f"{PREFIX}a.*", ["a1", "a2"]),
        (f"{NAMESPACE}/a1", ["a1"]),
        (f"{NAMESPACE}/a", []),
        (f"{PREFIX}.*-partition-1", ["b-partition-1"]),
        (f"{PREFIX}\\Qa1\\E", ["a1"]),
    ],
)
def test_pattern_filters_whole_names(pattern: str, names: list[str]) -> None:
    answer = _list(_bench(), topics_pattern=pattern)
    assert (_short(answer.topics), answer.filtered) == (names, True)


def test_pattern_that_is_too_long_is_left_to_the_client() -> None:
    answer = _list(_bench(), topics_pattern="a" * 51)
    assert (_short(answer.topics), answer.filtered) == (ALL, False)


def test_bad_pattern_is_an_error() -> None:
    bench = _bench()
    answer = bench.ask(C.GET_TOPICS_OF_NAMESPACE, namespace=NAMESPACE, topics_pattern="(")
    assert answer.body.error == ServerError.MetadataError


def test_client_that_knows_the_hash_is_told_nothing_new() -> None:
    bench = _bench()
    first = _list(bench)
    again = _list(bench, topics_hash=first.topics_hash)
    assert (first.changed, again.changed, list(again.topics)) == (True, False, [])


@pytest.mark.parametrize(("mode", "names"), [(0, ALL), (1, []), (2, ALL)])
def test_mode_chooses_the_domain(mode: int, names: list[str]) -> None:
    assert _short(_list(_bench(), mode=mode).topics) == names


# --- watching ---------------------------------------------------------------------------------------------------------


def _watch(bench: Bench, pattern: str = f"{PREFIX}a.*", **fields: Any) -> Any:
    given: dict[str, Any] = {"watcher_id": 1, "namespace": NAMESPACE, "topics_pattern": pattern} | fields
    return bench.ask(C.WATCH_TOPIC_LIST, **given).body


def test_watcher_is_told_what_there_is() -> None:
    answer = _watch(_bench())
    assert (_short(answer.topic), answer.topics_hash) == (["a1", "a2"], topics_hash([PREFIX + "a1", PREFIX + "a2"]))


def test_watcher_that_knows_the_hash_is_told_no_names() -> None:
    bench = _bench()
    known = _watch(bench).topics_hash
    assert list(_watch(bench, watcher_id=2, topics_hash=known).topic) == []


def test_watcher_is_told_of_new_topics_that_match() -> None:
    bench = _bench()
    _watch(bench)
    for number, topic in enumerate(["a3", "c"]):
        bench.tell(C.PRODUCER, topic=topic, producer_id=number, request_id=50 + number, producer_name="p")
    updates = [frame.body for frame in bench.take() if frame.type == C.WATCH_TOPIC_UPDATE]
    assert [_short(update.new_topics) for update in updates] == [["a3"]]
    assert updates[0].topics_hash == topics_hash([f"{PREFIX}a{number}" for number in (1, 2, 3)])


def test_watcher_is_told_of_deleted_topics() -> None:
    bench = _bench()
    _watch(bench)
    bench.step("delete", topic="a2")
    assert [_short(frame.body.deleted_topics) for frame in bench.take()] == [["a2"]]


def test_watcher_is_told_of_added_partitions() -> None:
    bench = _bench()
    _watch(bench, f"{PREFIX}b.*")
    bench.step("grow", topic="b", partitions=4)
    assert [_short(frame.body.new_topics) for frame in bench.take()] == [["b-partition-2", "b-partition-3"]]


def test_closed_watcher_is_told_nothing() -> None:
    bench = _bench()
    _watch(bench)
    assert bench.ask(C.WATCH_TOPIC_LIST_CLOSE, watcher_id=1).type == C.SUCCESS
    bench.step("delete", topic="a2")
    assert bench.take() == []


def test_closing_a_watcher_that_is_not_there_succeeds() -> None:
    assert _bench().ask(C.WATCH_TOPIC_LIST_CLOSE, watcher_id=9).type == C.SUCCESS


def test_watcher_ends_with_its_connection() -> None:
    bench = _bench()
    _watch(bench)
    bench.leave()
    bench.step("delete", topic="a2")
    assert bench.take() == []


@pytest.mark.parametrize(
    ("pattern", "error"), [("(", ServerError.InvalidTopicName), ("a" * 51, ServerError.NotAllowedError)]
)
def test_pattern_nobody_can_watch_is_refused(pattern: str, error: int) -> None:
    assert _watch(_bench(), pattern).error == error
