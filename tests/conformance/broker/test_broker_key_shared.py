"""Key_Shared: one key, one consumer, in order; who has a key, and when it changes hands."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from tests.conformance.broker.bench import Bench, C, T

from assay_conformance.wire import Frame, sticky_key_hash
from assay_conformance.wire.pulsar_pb2 import KeySharedMode, ServerError

KEYS = [f"k{number}" for number in range(20)]


def _with_consumers(*conns: int, permits: int = 100, **meta: Any) -> Bench:
    """Connection 9 publishes; each other one has a consumer named by it."""
    bench = Bench()
    bench.connect(9)
    bench.produce(9)
    for conn in conns:
        _join(bench, conn, permits, **meta)
    return bench


def _join(bench: Bench, conn: int, permits: int = 100, **meta: Any) -> Frame:
    bench.connect(conn)
    fields = {"keySharedMode": KeySharedMode.AUTO_SPLIT} | meta
    answer = bench.subscribe("Key_Shared", conn, consumer_name=f"c{conn}", keySharedMeta=fields)
    bench.flow(permits, conn=conn)
    return answer


def _publish(bench: Bench, *keys: str) -> None:
    for key in keys:
        bench.publish(len(bench.ids), conn=9, meta={"partition_key": key})


def _owners(bench: Bench, *conns: int) -> dict[str, set[int]]:
    """Key -> the connections its entries went to since the last time."""
    found: dict[str, set[int]] = {}
    for conn in conns:
        for frame in bench.take(conn):
            if frame.payload is not None:
                found.setdefault(frame.payload.metadata.partition_key, set()).add(conn)
    return found


# --- who has a key ---------------------------------------------------------------------------------------------------


def test_every_key_goes_to_one_consumer() -> None:
    bench = _with_consumers(0, 1, 2)
    _publish(bench, *KEYS, *KEYS)
    owners = _owners(bench, 0, 1, 2)
    assert [len(conns) for conns in owners.values()] == [1] * len(KEYS)


def test_keys_are_spread_over_the_consumers() -> None:
    bench = _with_consumers(0, 1, 2)
    _publish(bench, *KEYS)
    assert {conn for conns in _owners(bench, 0, 1, 2).values() for conn in conns} == {0, 1, 2}


def test_a_consumer_that_joins_takes_keys_from_others_and_moves_none_between_them() -> None:
    bench = _with_consumers(0, 1)
    _publish(bench, *KEYS)
    before = _owners(bench, 0, 1)
    bench.ack(*bench.ids)
    bench.ack(*bench.ids, conn=1)
    _join(bench, 2)
    _publish(bench, *KEYS)
    after = _owners(bench, 0, 1, 2)
    assert all(after[key] in (before[key], {2}) for key in KEYS)
    assert {2} in after.values()


def test_consumers_of_one_name_share_the_keys_too() -> None:
    bench = Bench()
    bench.connect(9)
    bench.produce(9)
    for conn in (0, 1):
        bench.connect(conn)
        bench.subscribe("Key_Shared", conn)
        bench.flow(100, conn=conn)
    _publish(bench, *KEYS)
    assert set().union(*_owners(bench, 0, 1).values()) == {0, 1}


def test_ordering_key_goes_before_the_partition_key() -> None:
    bench = _with_consumers(0, 1, 2)
    for number, key in enumerate(KEYS):
        bench.publish(number, conn=9, meta={"partition_key": key, "ordering_key": b"one"})
    assert len(set().union(*_owners(bench, 0, 1, 2).values())) == 1


def test_bytes_key_is_the_same_key_in_base64() -> None:
    bench = _with_consumers(0, 1, 2)
    for number, key in enumerate(KEYS):
        bench.publish(number, conn=9, meta={"partition_key": key})
    plain = _owners(bench, 0, 1, 2)
    for number, key in enumerate(KEYS):
        text = base64.b64encode(key.encode()).decode()
        bench.publish(100 + number, conn=9, meta={"partition_key": text, "partition_key_b64_encoded": True})
    coded = _owners(bench, 0, 1, 2)
    assert [coded[base64.b64encode(key.encode()).decode()] for key in KEYS] == [plain[key] for key in KEYS]


def test_entries_without_a_key_are_spread() -> None:
    bench = _with_consumers(0, 1, 2)
    bench.publish(*range(30), conn=9)
    assert all(bench.delivered(conn) for conn in (0, 1, 2))


# --- when a key changes hands ----------------------------------------------------------------------------------------


def _moving_key() -> tuple[Bench, str]:
    """Consumer 0 holds one entry of each key; a key of them that is consumer 1's, who joined then."""
    bench = _with_consumers(0)
    _publish(bench, *KEYS)
    bench.take(0)
    _join(bench, 1)
    for key in KEYS:
        _publish(bench, key)
        if not bench.delivered(0):
            return bench, key
    raise AssertionError("no key moved")


def test_key_waits_while_the_former_consumer_has_unacked_entries_of_it() -> None:
    bench, _ = _moving_key()
    assert bench.delivered(1) == []


def test_key_goes_on_at_the_new_consumer_once_the_former_has_acked() -> None:
    bench, key = _moving_key()
    bench.ack(bench.ids[KEYS.index(key)])
    assert bench.delivered(1) == [len(bench.ids) - 1]


def test_key_goes_on_at_the_new_consumer_once_the_former_is_gone_from_the_first_unacked_on() -> None:
    bench, key = _moving_key()
    bench.leave(0)
    delivered = bench.delivered(1)
    assert [number for number in delivered if number in (KEYS.index(key), len(bench.ids) - 1)] == [
        KEYS.index(key),
        len(bench.ids) - 1,
    ]


def test_other_keys_do_not_wait_for_the_one_that_drains() -> None:
    bench, _ = _moving_key()
    fresh = [f"n{number}" for number in range(40)]
    _publish(bench, *fresh)
    assert set(_owners(bench, 0, 1)) == set(fresh)


def test_out_of_order_delivery_does_not_wait() -> None:
    bench = _with_consumers(0, allowOutOfOrderDelivery=True)
    _publish(bench, *KEYS)
    _join(bench, 1, allowOutOfOrderDelivery=True)
    _publish(bench, *KEYS)
    assert len(bench.delivered(0)) + len(bench.delivered(1)) == 2 * len(KEYS)


def test_consumer_without_permits_holds_up_its_own_keys_only() -> None:
    bench = _with_consumers(0, 1, permits=100)
    _publish(bench, *KEYS)
    mine = [key for key, conns in _owners(bench, 0, 1).items() if conns == {0}]
    bench = _with_consumers(0, 1, permits=1)
    bench.flow(100, conn=1)
    _publish(bench, *KEYS, *KEYS)
    owners = _owners(bench, 0, 1)
    assert [key for key, conns in owners.items() if conns == {0}] == mine[:1]


def test_held_up_keys_go_out_in_order_once_there_are_permits() -> None:
    bench = _with_consumers(0, permits=1)
    _publish(bench, "a", "b", "a", "b")
    bench.flow(10)
    assert bench.delivered() == [0, 1, 2, 3]


# --- ranges ----------------------------------------------------------------------------------------------------------


def _sticky(bench: Bench, conn: int, *ranges: tuple[int, int]) -> Frame:
    wanted = [{"start": start, "end": end} for start, end in ranges]
    return _join(bench, conn, keySharedMode=KeySharedMode.STICKY, hashRanges=wanted)


def _request_ranges(bench: Bench, conn: int, wanted: list[dict[str, int]]) -> None:
    bench.connect(conn)
    meta = {"keySharedMode": KeySharedMode.STICKY, "hashRanges": wanted}
    fields = {"topic": T, "subscription": "s", "subType": 3, "consumer_id": 1, "consumer_name": f"c{conn}"}
    bench.request(C.SUBSCRIBE, conn, keySharedMeta=meta, **fields)


def test_sticky_ranges_decide_who_has_a_key() -> None:
    bench = _with_consumers()
    _sticky(bench, 0, (0, 32767))
    _sticky(bench, 1, (32768, 65535))
    _publish(bench, *KEYS)
    owners = _owners(bench, 0, 1)
    assert owners == {key: {0 if sticky_key_hash(key.encode()) < 32768 else 1} for key in KEYS}


def test_key_outside_every_range_waits_for_somebody_who_takes_it() -> None:
    bench = _with_consumers()
    place = sticky_key_hash(b"a")
    _sticky(bench, 0, (0, place - 1))
    _publish(bench, "a")
    assert bench.delivered(0) == []
    _sticky(bench, 1, (place, place))
    assert bench.delivered(1) == [0]


@pytest.mark.parametrize("ranges", [[(10, 20)], [(20, 30)], [(0, 10)], [(15, 16)], [(0, 65535)], []])
def test_overlapping_and_missing_ranges_are_refused(ranges: list[tuple[int, int]]) -> None:
    bench = _with_consumers()
    _sticky(bench, 0, (10, 20))
    bench.take(0)
    wanted = [{"start": start, "end": end} for start, end in ranges]
    _request_ranges(bench, 1, wanted)
    if bench.kinds(0) == ["PING"]:
        bench.tell(C.PONG, 0)
    assert [frame.body.error for frame in bench.take(1)] == [ServerError.ConsumerAssignError]


def test_range_of_a_holder_that_does_not_answer_can_be_had() -> None:
    bench = _with_consumers()
    _sticky(bench, 0, (10, 20))
    _request_ranges(bench, 1, [{"start": 15, "end": 30}])
    assert bench.take(1) == []
    bench.wait(5_000)
    assert (bench.closed, bench.kinds(1)) == ([0], ["SUCCESS"])


def test_range_of_a_consumer_that_left_can_be_had() -> None:
    bench = _with_consumers()
    _sticky(bench, 0, (10, 20))
    bench.leave(0)
    assert _sticky(bench, 1, (10, 20)).type == C.SUCCESS


@pytest.mark.parametrize("meta", [{"keySharedMode": KeySharedMode.STICKY}, {"allowOutOfOrderDelivery": True}])
def test_consumers_that_share_in_another_way_are_refused(meta: dict[str, Any]) -> None:
    bench = _with_consumers(0)
    assert _join(bench, 1, **meta).body.error == ServerError.ConsumerBusy
