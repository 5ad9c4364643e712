"""What in a history has to do with what, and what concerns everybody."""

from __future__ import annotations

import msgspec

from assay_conformance.history.parts import EVERYBODY, Named, Parts
from assay_conformance.model.direction import Direction
from assay_conformance.model.event import (
    Began,
    Closed,
    Ended,
    Ending,
    Event,
    Frame,
    Invoke,
    MessageId,
    ReadBack,
    Received,
)

FULL = "persistent://public/default/"


def _began() -> Began:
    topics = {name: FULL + name for name in "ab"}
    return Began(seq=0, t_ns=0, case="test/case", attempt=1, number=1, unix_ms=0, topics=topics)


def _opens(handle: int, client: int, topic: str, verb: str = "open_producer") -> Invoke:
    return Invoke(seq=0, t_ns=0, op=handle, verb=verb, handle=handle, args={"client": client, "topic": topic})


def _produces(conn: int, topic: str) -> Frame:
    fields = {"topic": FULL + topic}
    return Frame(seq=0, t_ns=0, conn=conn, dir=Direction.TO_BROKER, frame=0, command="PRODUCER", size=1, fields=fields)


def _received(handle: int) -> Received:
    return Received(seq=0, t_ns=0, handle=handle, delivery=1, message_id=MessageId(1, 0), size=1, digest=1)


def _bundles(*events: Event, most: int = 1) -> list[int]:
    parts = Parts("a")
    for event in (_began(), *events):
        parts.add(msgspec.json.decode(msgspec.json.encode(event), type=Named))
    return list(parts.bundles(most))[1:]


def test_a_producer_its_client_its_topic_and_its_connection_belong_together() -> None:
    closed = Closed(seq=0, t_ns=0, conn=7, by="client")  # type: ignore[arg-type]
    read_back = ReadBack(seq=0, t_ns=0, topic="a", entries=())
    close = Invoke(seq=0, t_ns=0, op=9, verb="close", handle=1)
    assert len(set(_bundles(_opens(2, 1, "a"), _produces(7, "a-partition-1"), closed, read_back, close))) == 1


def test_clients_on_topics_of_their_own_are_apart() -> None:
    assert _bundles(_opens(2, 1, "a"), _opens(4, 3, "b"), _produces(7, "b"), _produces(8, "a")) == [0, 1, 1, 0]


def test_clients_of_one_topic_belong_together() -> None:
    assert _bundles(_opens(2, 1, "a"), _opens(4, 3, "a", "open_consumer"), _received(4)) == [0, 0, 0]


def test_two_topics_of_one_client_belong_together() -> None:
    assert _bundles(_opens(2, 1, "a"), _opens(3, 1, "b"), _received(3)) == [0, 0, 0]


def test_what_is_learned_late_counts_from_the_beginning() -> None:
    assert len(set(_bundles(_opens(2, 1, "a"), _opens(4, 3, "b"), _opens(5, 3, "a")))) == 1


def test_whoever_names_no_topic_has_the_first() -> None:
    opening = Invoke(seq=0, t_ns=0, op=1, verb="open_producer", handle=2, args={"client": 1})
    assert len(set(_bundles(opening, _produces(7, "a")))) == 1


def test_whoever_names_a_pattern_may_have_any() -> None:
    opening = Invoke(
        seq=0, t_ns=0, op=1, verb="open_consumer", handle=2, args={"client": 1, "pattern": ".*", "topics": []}
    )
    assert len(set(_bundles(opening, _produces(7, "a"), _produces(8, "b")))) == 1


def test_the_bench_concerns_everybody() -> None:
    assert _bundles(_opens(2, 1, "a"), Ended(seq=0, t_ns=0, how=Ending.DONE)) == [0, EVERYBODY]


def test_small_parts_share_a_bundle() -> None:
    assert _bundles(_opens(2, 1, "a"), _opens(4, 3, "b"), most=2) == [0, 0]
