"""Broker steps of a Case: holds, raw entries, and what is refused."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from tests.conformance.broker.bench import Bench

from assay_conformance.model.case import Topic, Topology
from assay_conformance.model.errors import UsageError
from assay_conformance.model.payload import identify
from assay_conformance.wire import CommandType, decode_batch
from assay_conformance.wire.pulsar_pb2 import ServerError


def _with_producer() -> Bench:
    bench = Bench()
    bench.connect()
    bench.produce()
    bench.produce(producer_id=2, name="q")
    return bench


def test_held_append_holds_back_those_behind_it() -> None:
    bench = _with_producer()
    bench.step("hold_store", topic="t", producer_name="p", sequence_id=1)
    bench.publish(0, 1, 2)
    bench.publish(7, producer_id=2, name="q")
    assert bench.receipts() == [0]
    bench.step("release", topic="t")
    assert (bench.receipts(), bench.content) == ([1, 2, 7], [0, 1, 2, 7])


def test_hold_with_a_count_ends_with_its_release() -> None:
    bench = _with_producer()
    bench.step("hold_store", topic="t", count=1)
    bench.publish(0)
    bench.step("release", topic="t")
    bench.publish(1)
    assert bench.receipts() == [0, 1]


def test_append_that_fails_closes_its_producer_and_is_answered() -> None:
    bench = _with_producer()
    bench.step("hold_store", topic="t")
    bench.publish(0, 1)
    bench.take()
    bench.step("fail_store", topic="t")
    frames = bench.take()
    assert [CommandType(frame.type).name for frame in frames] == ["CLOSE_PRODUCER"] * 2 + ["SEND_ERROR"] * 2
    assert {frame.body.error for frame in frames[2:]} == {ServerError.PersistenceError}
    assert bench.content == []


def test_append_that_failed_is_taken_when_it_comes_again() -> None:
    bench = Bench(deduplication=True)
    bench.connect()
    bench.produce()
    bench.step("hold_store", topic="t")
    bench.publish(0)
    bench.step("fail_store", topic="t")
    bench.produce()
    bench.publish(0, 0)
    assert bench.content == [0]


def test_appends_that_failed_hold_up_no_connection() -> None:
    bench = _with_producer()
    bench.step("hold_store", topic="t")
    bench.publish(*range(1_000))
    assert bench.paused == {0}
    bench.step("fail_store", topic="t")
    assert bench.paused == set()


def test_held_appends_are_not_dispatched() -> None:
    bench = _with_producer()
    bench.connect(1)
    bench.subscribe(conn=1)
    bench.flow(10, conn=1)
    bench.step("hold_store", topic="t")
    bench.publish(0)
    assert bench.delivered(1) == []
    bench.step("release", topic="t")
    assert bench.delivered(1) == [0]


def test_release_after_the_producer_left_stores_without_a_receipt() -> None:
    bench = _with_producer()
    bench.step("hold_store", topic="t")
    bench.publish(0)
    bench.leave()
    bench.step("release", topic="t")
    assert (bench.content, bench.take()) == ([0], [])


def _store(**entry: Any) -> Bench:
    bench = Bench()
    bench.step("store_entries", topic="t", entries=[entry])
    return bench


def test_raw_entry_carries_its_data() -> None:
    payload = _store(data=base64.b64encode(b"hello").decode(), producer_name="x", sequence_id=4).stored_entries[0][2]
    assert (bytes(payload.data), payload.metadata.producer_name, payload.metadata.sequence_id) == (b"hello", "x", 4)
    assert payload.checksum_ok()


def test_raw_entry_may_carry_a_generated_payload() -> None:
    payload = _store(payload={"size": 40, "case": 1, "handle": 2, "number": 3}).stored_entries[0][2]
    identity = identify(payload.data)
    assert identity is not None
    assert (len(payload.data), identity.number) == (40, 3)


def test_raw_members_make_a_batch() -> None:
    bench = _store(members=[{"data": "YQ==", "sequence_id": 0, "key": "k"}, {"data": "YmI=", "sequence_id": 1}])
    payload = bench.stored_entries[0][2]
    members = decode_batch(payload.data, payload.metadata.num_messages_in_batch)
    assert [(bytes(member.payload), member.metadata.sequence_id) for member in members] == [(b"a", 0), (b"bb", 1)]


def test_raw_entry_may_be_compressed() -> None:
    metadata = _store(data=base64.b64encode(b"x" * 100).decode(), compression="ZLIB").stored_entries[0][2].metadata
    assert (metadata.compression, metadata.uncompressed_size) == (2, 100)


def test_raw_copies_are_stored_as_often() -> None:
    assert len(_store(copies=3, uuid="u", chunk_id=0, num_chunks_from_msg=2).ids) == 3


def test_any_metadata_field_may_be_given() -> None:
    payload = _store(metadata={"event_time": 5, "null_value": True}).stored_entries[0][2]
    assert (payload.metadata.event_time, payload.metadata.null_value) == (5, True)


def test_damaged_entry_has_a_checksum_that_does_not_fit() -> None:
    assert not _store(data="YQ==", damaged=True).stored_entries[0][2].checksum_ok()


def test_raw_entries_are_dispatched() -> None:
    bench = Bench()
    bench.connect()
    bench.subscribe()
    bench.flow(10)
    bench.step("store_entries", topic="t", entries=[{}, {}])
    assert bench.delivered() == [0, 1]


@pytest.mark.parametrize(
    ("verb", "args", "word"),
    [
        ("explode", {}, "explode"),
        ("unload", {}, "topic"),
        ("unload", {"topic": "nope"}, "nope"),
        ("move", {"topic": "t", "broker": 5}, "broker 5"),
        ("move", {"topic": "t", "broker": "one"}, "broker"),
        ("restart", {"broker": 5}, "broker 5"),
        ("release", {"topic": "t", "typo": 1}, "typo"),
        ("set_policy", {"topic": "t", "dispatch_rate": {"per_second": 1}}, "per_second"),
        ("store_entries", {"topic": "t", "entries": [{"metadata": {"no_such": 1}}]}, "no_such"),
    ],
)
def test_nonsense_is_refused_by_name(verb: str, args: dict[str, Any], word: str) -> None:
    with pytest.raises(UsageError, match=word):
        Bench().step(verb, **args)


def test_raw_entries_need_one_partition_to_go_to() -> None:
    bench = Bench(topology=Topology(topics=(Topic(name="t", partitions=2),)))
    with pytest.raises(UsageError, match="partition"):
        bench.step("store_entries", topic="t", entries=[{}])


def test_step_on_a_partitioned_topic_reaches_every_partition() -> None:
    bench = Bench(topology=Topology(topics=(Topic(name="t", partitions=2),)))
    bench.connect()
    for index in range(2):
        bench.produce(producer_id=index, topic=f"t-partition-{index}")
    bench.step("unload", topic="t")
    assert bench.kinds() == ["CLOSE_PRODUCER", "CLOSE_PRODUCER"]
