"""Deduplication: what is stored, what is answered, what is remembered."""

from __future__ import annotations

from typing import Any

import pytest
from tests.conformance.broker.bench import Bench, C

from assay_conformance.model.case import Topic, Topology
from assay_conformance.model.policy import BrokerSettings
from assay_conformance.wire import NO_ID, Member, MessageMetadata, SingleMessageMetadata, command, encode, encode_batch
from assay_conformance.wire.pulsar_pb2 import ServerError


def _deduplicating() -> Bench:
    bench = Bench(deduplication=True)
    bench.connect()
    bench.produce()
    return bench


def test_repeated_and_lower_ids_are_not_stored() -> None:
    bench = _deduplicating()
    bench.publish(5, 5, 3, 7, 6)
    assert bench.content == [5, 7]
    assert bench.receipts() == [5, 5, 3, 7, 6]


def test_duplicate_gets_a_receipt_without_a_position() -> None:
    bench = _deduplicating()
    bench.publish(5, 5)
    position = bench.take()[-1].body.message_id
    assert (position.ledgerId, position.entryId) == (NO_ID, NO_ID)


def test_batch_is_judged_by_its_lowest_id() -> None:
    bench = _deduplicating()
    bench.publish(7)
    bench.publish_batch(5, 6)
    assert bench.content == [7]


def test_batch_is_recorded_by_its_highest_id() -> None:
    bench = _deduplicating()
    bench.publish_batch(0, 4)
    bench.publish(3, 4)
    assert bench.content == [0, 4]


def test_only_the_last_chunk_is_judged() -> None:
    bench = _deduplicating()
    for chunk_id in (0, 1, 0, 1, 2, 0, 1, 2):
        bench.publish_chunk(4, chunk_id, 3)
    assert [payload.metadata.chunk_id for _, _, payload in bench.stored_entries] == [0, 1, 0, 1, 2, 0, 1]


def test_copy_of_an_unwritten_send_cannot_be_judged() -> None:
    bench = _deduplicating()
    bench.step("hold_store", topic="t")
    bench.publish(0, 0)
    assert [(frame.body.error, frame.body.sequence_id) for frame in bench.take()] == [(ServerError.PersistenceError, 0)]


def test_copy_after_the_write_is_a_duplicate() -> None:
    bench = _deduplicating()
    bench.step("hold_store", topic="t", count=1)
    bench.publish(0)
    bench.leave()
    bench.connect(1)
    assert bench.produce(1).body.last_sequence_id == 0
    bench.publish(0, conn=1)
    bench.step("release", topic="t")
    bench.publish(0, conn=1)
    assert bench.kinds(1) == ["SEND_ERROR", "SEND_RECEIPT"]
    assert bench.content == [0]


def test_duplicate_receipt_overtakes_a_waiting_write() -> None:
    bench = _deduplicating()
    bench.publish(0)
    bench.step("hold_store", topic="t")
    bench.publish(1, 0)
    assert bench.receipts() == [0, 0]


def test_error_of_a_batch_names_its_highest_id() -> None:
    bench = _deduplicating()
    bench.step("hold_store", topic="t")
    bench.publish_batch(0, 4)
    bench.publish_batch(0, 4)
    assert bench.take()[-1].body.sequence_id == 3


def test_new_instance_of_a_name_continues() -> None:
    bench = _deduplicating()
    bench.publish(0, 1)
    bench.leave()
    bench.connect(1)
    assert bench.produce(1).body.last_sequence_id == 1


def test_without_deduplication_no_id_is_told() -> None:
    bench = Bench()
    bench.connect()
    bench.produce()
    bench.publish(0, 1)
    bench.leave()
    bench.connect(1)
    assert bench.produce(1).body.last_sequence_id == -1


def test_names_are_judged_apart() -> None:
    bench = _deduplicating()
    bench.produce(producer_id=2, name="q")
    bench.publish(3)
    bench.publish(3, producer_id=2, name="q")
    assert bench.content == [3, 3]


def test_unload_keeps_what_was_written() -> None:
    bench = _deduplicating()
    bench.publish(0, 1)
    bench.step("unload", topic="t")
    bench.take()
    assert bench.produce().body.last_sequence_id == 1
    bench.publish(1, 2)
    assert bench.content == [0, 1, 2]


def test_crash_forgets_what_was_not_written() -> None:
    bench = _deduplicating()
    bench.publish(0)
    bench.step("hold_store", topic="t")
    bench.publish(1)
    bench.step("restart")
    bench.connect(1)
    assert bench.produce(1).body.last_sequence_id == 0
    bench.publish(1, conn=1)
    assert bench.content == [0, 1]


def test_policy_switched_on_later_does_not_know_what_was_stored_before() -> None:
    bench = Bench()
    bench.connect()
    bench.produce()
    bench.publish(0, 1)
    bench.step("set_policy", topic="t", deduplication=True)
    bench.publish(1, 1, 2)
    assert bench.content == [0, 1, 1, 2]


# --- snapshots --------------------------------------------------------------------------------------------------------


def _snapshots(**settings: Any) -> Bench:
    """A batch of three stored, whose metadata does not name its highest id: only a snapshot can know that one."""
    bench = Bench(topology=Topology(topics=(Topic(name="t", deduplication=True),), settings=BrokerSettings(**settings)))
    bench.connect()
    bench.produce()
    metadata = MessageMetadata(producer_name="p", sequence_id=0, publish_time=0, num_messages_in_batch=3)
    send = command(C.SEND, producer_id=1, sequence_id=0, num_messages=3, highest_sequence_id=2)
    members = [Member(SingleMessageMetadata(), b"m") for _ in range(3)]
    bench.put(encode(send, metadata=metadata, data=encode_batch(members)))
    return bench


def _last_id_after_restart(bench: Bench) -> int:
    bench.step("restart")
    bench.connect(7)
    return int(bench.produce(7).body.last_sequence_id)


def test_without_a_snapshot_the_metadata_of_entries_counts() -> None:
    assert _last_id_after_restart(_snapshots()) == 0


def test_snapshot_is_taken_every_so_many_entries() -> None:
    assert _last_id_after_restart(_snapshots(dedup_snapshot_entries=1)) == 2


def test_snapshot_is_taken_every_so_often() -> None:
    bench = _snapshots(dedup_snapshot_s=120)
    bench.wait(119_000)
    assert _last_id_after_restart(bench) == 0
    bench = _snapshots(dedup_snapshot_s=120)
    bench.wait(120_000)
    assert _last_id_after_restart(bench) == 2


def test_entries_after_the_snapshot_are_added_to_it() -> None:
    bench = _snapshots(dedup_snapshot_entries=1)
    bench.publish(9)
    assert _last_id_after_restart(bench) == 9


def test_snapshot_holds_so_many_names_only() -> None:
    bench = _snapshots(dedup_snapshot_entries=2, dedup_max_producers=1)
    bench.produce(producer_id=2, name="q")
    bench.publish(5, producer_id=2, name="q")
    bench.step("restart")
    bench.connect(7)
    answers = [bench.produce(7, producer_id=number, name=name).body for number, name in enumerate("pq")]
    assert [answer.last_sequence_id for answer in answers] == [2, -1]


# --- names that are not used ------------------------------------------------------------------------------------------

IDLE_MS = 360 * 60_000


@pytest.mark.parametrize(("idle_ms", "last"), [(IDLE_MS, 1), (IDLE_MS + 1, -1)])
def test_name_without_a_producer_is_forgotten(idle_ms: int, last: int) -> None:
    bench = _deduplicating()
    bench.publish(0, 1)
    bench.leave()
    bench.wait(idle_ms)
    bench.connect(1)
    assert bench.produce(1).body.last_sequence_id == last


def test_forgotten_name_may_use_its_ids_again() -> None:
    bench = _deduplicating()
    bench.publish(0)
    bench.leave()
    bench.wait(IDLE_MS + 1)
    bench.connect(1)
    bench.produce(1)
    bench.publish(0, conn=1)
    assert bench.content == [0, 0]


def test_name_with_a_producer_is_remembered_however_long_it_is_silent() -> None:
    bench = Bench(topology=Topology(topics=(Topic(name="t", deduplication=True),), keep_alive_ms=10 * IDLE_MS))
    bench.connect()
    bench.produce()
    bench.publish(0)
    bench.wait(IDLE_MS + 1)
    bench.publish(0)
    assert bench.content == [0]


def test_name_counts_as_used_when_its_topic_is_loaded() -> None:
    bench = _deduplicating()
    bench.publish(0, 1)
    bench.leave()
    bench.wait(IDLE_MS)
    bench.step("unload", topic="t")
    bench.wait(IDLE_MS)
    bench.connect(1)
    assert bench.produce(1).body.last_sequence_id == 1


def test_forgotten_name_is_not_found_again_in_what_is_stored() -> None:
    bench = _deduplicating()
    bench.publish(0, 1)
    bench.leave()
    bench.wait(IDLE_MS + 1)
    bench.connect(1)
    bench.produce(1)
    bench.leave(1)
    bench.step("unload", topic="t")
    bench.connect(2)
    assert bench.produce(2).body.last_sequence_id == -1
