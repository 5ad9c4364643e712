"""Acknowledgements: one by one, up to, in part of a batch; and what comes back afterwards."""

from __future__ import annotations

import pytest
from tests.conformance.broker.bench import Bench, C

from assay_conformance.model.case import Topology
from assay_conformance.model.event import MessageId
from assay_conformance.model.policy import BrokerSettings
from assay_conformance.wire.pulsar_pb2 import ServerError


def _consuming(kind: str = "Exclusive", entries: int = 4) -> Bench:
    bench = Bench()
    bench.connect(9)
    bench.produce(9)
    bench.publish(*range(entries), conn=9)
    bench.connect(0)
    bench.subscribe(kind)
    bench.flow(100)
    bench.take()
    return bench


def _again(bench: Bench, kind: str = "Exclusive") -> list[int]:
    """What a new consumer of the subscription is sent."""
    bench.leave(0)
    bench.connect(5)
    bench.subscribe(kind, 5)
    bench.flow(100, conn=5)
    return [frame.body.message_id.entryId for frame in bench.take(5)]


@pytest.mark.parametrize("kind", ["Exclusive", "Shared"])
def test_only_what_is_not_acked_comes_back(kind: str) -> None:
    bench = _consuming(kind)
    bench.ack(bench.ids[0], bench.ids[2])
    assert _again(bench, kind) == [1, 3]


def test_cumulative_ack_takes_everything_up_to_it() -> None:
    bench = _consuming()
    bench.ack(bench.ids[2], ack_type=1)
    assert _again(bench) == [3]


def test_cumulative_ack_closes_a_hole_behind_it() -> None:
    bench = _consuming()
    bench.ack(bench.ids[2])
    bench.ack(bench.ids[1], ack_type=1)
    assert bench.cursor().mark_delete == bench.ids[2]


def test_cumulative_ack_on_shared_is_ignored() -> None:
    bench = _consuming("Shared")
    bench.ack(bench.ids[2], ack_type=1)
    assert _again(bench, "Shared") == [0, 1, 2, 3]


def test_cumulative_ack_of_two_ids_is_ignored() -> None:
    bench = _consuming()
    bench.ack(bench.ids[0], bench.ids[1], ack_type=1)
    assert _again(bench) == [0, 1, 2, 3]


def test_ack_that_asks_is_answered() -> None:
    bench = _consuming()
    bench.ack(bench.ids[0], request_id=7)
    assert [(frame.type, frame.body.request_id) for frame in bench.take()] == [(C.ACK_RESPONSE, 7)]


def test_ack_that_does_not_ask_is_not_answered() -> None:
    bench = _consuming()
    bench.ack(bench.ids[0])
    assert bench.take() == []


def test_ack_of_what_is_not_there_changes_nothing() -> None:
    bench = _consuming()
    bench.ack(MessageId(1, 99), MessageId(77, 0))
    assert _again(bench) == [0, 1, 2, 3]


def test_ack_twice_counts_once() -> None:
    bench = _consuming()
    bench.ack(bench.ids[1], bench.ids[1])
    assert (bench.cursor().backlog, bench.cursor().acked) == (3, (bench.ids[1],))


def test_batch_index_in_an_ack_means_the_whole_entry() -> None:
    bench = _consuming(entries=0)
    bench.publish_batch(0, 4, conn=9)
    position = {"ledgerId": bench.ids[0].ledger, "entryId": 0, "batch_index": 1}
    bench.tell(C.ACK, consumer_id=1, ack_type=0, message_id=[position])
    assert bench.cursor().backlog == 0


def _ack_set(bench: Bench, bits: int, ack_type: int = 0, entry: int = 0) -> None:
    position = {"ledgerId": bench.ids[0].ledger, "entryId": entry, "ack_set": [bits], "batch_size": 4}
    bench.tell(C.ACK, consumer_id=1, ack_type=ack_type, message_id=[position])


def test_ack_set_is_sent_along_with_the_members_left() -> None:
    bench = _consuming("Shared", entries=0)
    bench.publish_batch(0, 4, conn=9)
    _ack_set(bench, 0b0110)
    bench.leave(0)
    bench.connect(5)
    bench.subscribe("Shared", 5)
    bench.flow(2, conn=5)
    assert list(bench.take(5)[-1].body.ack_set) == [0b0110]


def test_members_acked_earlier_cost_no_permits() -> None:
    bench = _consuming("Shared", entries=0)
    bench.publish_batch(0, 4, conn=9)
    _ack_set(bench, 0b0110)
    bench.publish(4, 5, conn=9)
    bench.leave(0)
    bench.connect(5)
    bench.subscribe("Shared", 5)
    bench.flow(3, conn=5)
    assert bench.delivered(5) == [0, 4]


def test_ack_sets_add_up_to_the_entry() -> None:
    bench = _consuming(entries=0)
    bench.publish_batch(0, 4, conn=9)
    _ack_set(bench, 0b0011)
    assert bench.cursor().backlog == 1
    _ack_set(bench, 0b1100)
    assert bench.cursor().backlog == 0


def test_cumulative_ack_set_takes_the_entries_before() -> None:
    bench = _consuming(entries=2)
    bench.publish_batch(2, 4, conn=9)
    _ack_set(bench, 0b1100, ack_type=1, entry=2)
    assert bench.cursor().mark_delete == bench.ids[1]
    assert _again(bench) == [2]


def test_ack_sets_survive_a_reconnect_but_no_unload() -> None:
    bench = _consuming("Shared", entries=0)
    bench.publish_batch(0, 4, conn=9)
    _ack_set(bench, 0b0110)
    bench.step("unload", topic="t")
    bench.take()
    bench.subscribe("Shared")
    bench.flow(10)
    assert list(bench.take()[-1].body.ack_set) == []


def test_holes_survive_an_unload() -> None:
    bench = _consuming()
    bench.ack(bench.ids[0], bench.ids[2])
    bench.step("unload", topic="t")
    bench.take()
    bench.subscribe()
    bench.flow(10)
    assert bench.delivered() == [1, 3]


def test_read_back_tells_mark_holes_and_backlog() -> None:
    bench = _consuming()
    bench.ack(bench.ids[0], bench.ids[2])
    state = bench.cursor()
    assert (state.mark_delete, state.acked, state.backlog) == (bench.ids[0], (bench.ids[2],), 2)


def test_ack_of_an_unknown_consumer_is_ignored() -> None:
    bench = _consuming()
    bench.ack(bench.ids[0], consumer_id=9, request_id=1)
    assert (bench.take(), bench.closed) == ([], [])


# --- settings and transactions ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "left"), [(0, 2), (1, 1)], ids=["individual", "cumulative"])
def test_broker_without_batch_index_acks_takes_no_members(kind: int, left: int) -> None:
    bench = Bench(topology=Topology(settings=BrokerSettings(batch_index_acks=False)))
    bench.connect()
    bench.produce()
    bench.publish(0)
    bench.publish_batch(1, 4)
    bench.subscribe()
    bench.flow(10)
    position = {"ledgerId": bench.ids[1].ledger, "entryId": 1, "ack_set": [0b1100], "batch_size": 4}
    bench.tell(C.ACK, consumer_id=1, ack_type=kind, message_id=[position])
    bench.take()
    bench.redeliver()
    assert bench.cursor().backlog == left
    assert [list(frame.body.ack_set) for frame in bench.take()] == [[]] * left


def test_ack_in_a_transaction_is_refused() -> None:
    bench = Bench()
    bench.connect()
    bench.produce()
    bench.publish(0)
    bench.subscribe()
    bench.flow(10)
    bench.take()
    bench.ack(*bench.ids, request_id=7, txnid_least_bits=1, txnid_most_bits=1)
    answer = bench.take()[-1].body
    assert (answer.request_id, answer.error, bench.cursor().backlog) == (7, ServerError.NotAllowedError, 1)


def test_ack_with_a_validation_error_counts_as_one() -> None:
    bench = Bench()
    bench.connect()
    bench.produce()
    bench.publish(0)
    bench.subscribe()
    bench.flow(10)
    bench.ack(*bench.ids, validation_error="ChecksumMismatch")
    assert bench.cursor().backlog == 0
