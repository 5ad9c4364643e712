"""A client that does not read: entries wait for it, whatever its permits are, and then its commands do."""

from __future__ import annotations

from typing import Any

import pytest
from tests.conformance.broker.bench import Bench, C

from assay_conformance.model.case import Topic, Topology

KINDS = ("Exclusive", "Failover", "Shared", "Key_Shared")
CLIENT, OTHER = 0, 1
ROOM = 3


def subscribed(kind: str = "Exclusive", **fields: Any) -> Bench:
    """A producer on one connection, and on another a consumer that has permits for everything."""
    bench = Bench()
    bench.connect(OTHER)
    bench.produce(OTHER)
    bench.connect(CLIENT)
    bench.subscribe(kind, CLIENT, **fields)
    bench.wait(10_000)  # Failover begins later
    bench.take(CLIENT)
    return bench


@pytest.mark.parametrize("kind", KINDS)
def test_no_more_is_dispatched_than_a_connection_takes(kind: str) -> None:
    bench = subscribed(kind)
    bench.publish(*range(20), conn=OTHER)
    bench.room[CLIENT] = ROOM
    bench.flow(1000)
    assert bench.delivered() == [0, 1, 2]


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_stored_meanwhile_waits_as_well(kind: str) -> None:
    bench = subscribed(kind)
    bench.room[CLIENT] = ROOM
    bench.flow(1000)
    bench.publish(*range(20), conn=OTHER)
    assert bench.delivered() == [0, 1, 2]


@pytest.mark.parametrize("kind", KINDS)
def test_dispatch_goes_on_in_order_when_the_client_reads(kind: str) -> None:
    bench = subscribed(kind)
    bench.publish(*range(20), conn=OTHER)
    bench.room[CLIENT] = ROOM
    bench.flow(1000)
    found = [number for _ in range(7) for number in bench.read()]
    assert found == list(range(20))


@pytest.mark.parametrize("kind", KINDS)
def test_permits_count_on_once_the_client_reads(kind: str) -> None:
    bench = subscribed(kind)
    bench.publish(*range(20), conn=OTHER)
    bench.room[CLIENT] = ROOM
    bench.flow(5)
    found = [number for _ in range(7) for number in bench.read()]
    assert found == list(range(5))


@pytest.mark.parametrize("kind", ["Shared", "Key_Shared"])
def test_what_is_asked_for_again_waits_for_the_client_too(kind: str) -> None:
    bench = subscribed(kind)
    bench.flow(1000)
    bench.publish(*range(6), conn=OTHER)
    bench.take()
    bench.room[CLIENT] = ROOM
    bench.redeliver()
    assert [bench.read(), bench.read()] == [[0, 1, 2], [3, 4, 5]]


def test_another_consumer_gets_what_one_does_not_read() -> None:
    bench = subscribed("Shared")
    bench.subscribe("Shared", OTHER, consumer_id=2)
    bench.room[CLIENT] = ROOM
    for conn, consumer in ((CLIENT, 1), (OTHER, 2)):
        bench.flow(1000, conn, consumer)
    bench.take(OTHER)
    bench.publish(*range(100), conn=OTHER)
    one, other = bench.delivered(CLIENT), bench.delivered(OTHER)
    assert (len(one), sorted(one + other)) == (ROOM, list(range(100)))


def test_keys_of_others_pass_those_of_a_client_that_does_not_read() -> None:
    bench = subscribed("Key_Shared")
    bench.subscribe("Key_Shared", OTHER, consumer_id=2)
    bench.room[CLIENT] = 1
    for conn, consumer in ((CLIENT, 1), (OTHER, 2)):
        bench.flow(1000, conn, consumer)
    bench.take(CLIENT)
    for number in range(16):
        bench.publish(number, conn=OTHER, meta={"partition_key": f"key-{number % 8}"})
    one, other = bench.delivered(CLIENT), bench.delivered(OTHER)
    waiting = [number for number in range(16) if number not in one + other]
    assert len(one) == 1
    assert len(waiting) > 1
    assert not {number % 8 for number in other} & {number % 8 for number in waiting}
    bench.room.clear()
    bench.cluster.drained(CLIENT, bench.now_ns)
    assert bench.delivered(CLIENT) == waiting


def test_subscriptions_of_one_connection_take_turns_at_its_room() -> None:
    bench = subscribed(subscription="a")
    bench.subscribe(subscription="b", consumer_id=2)
    bench.take()
    bench.room[CLIENT] = ROOM
    for consumer in (1, 2):
        bench.flow(1000, consumer_id=consumer)
    bench.publish(*range(30), conn=OTHER)
    found = []
    for _ in range(6):
        found += [frame.body.consumer_id for frame in bench.take() if frame.type == C.MESSAGE]
        bench.cluster.drained(CLIENT, bench.now_ns)
    assert found.count(1) >= ROOM <= found.count(2)


def test_a_message_that_is_not_stored_is_missed_by_a_client_that_does_not_read() -> None:
    topology = Topology(topics=(Topic(name="t", persistent=False),))
    bench = Bench(topology=topology)
    topic = "non-persistent://public/default/t"
    bench.connect(OTHER)
    bench.produce(OTHER, topic=topic)
    bench.connect(CLIENT)
    bench.subscribe(topic=topic)
    bench.take()
    bench.room[CLIENT] = ROOM
    bench.flow(1000)
    bench.publish(*range(5), conn=OTHER)
    assert bench.read() == [0, 1, 2]
    bench.publish(5, conn=OTHER)
    assert bench.read() == [5]


def test_commands_of_a_client_that_reads_no_answers_wait_until_it_does() -> None:
    bench = Bench()
    bench.connect()
    bench.room[CLIENT] = ROOM
    for _ in range(10):
        bench.tell(C.PING)
    assert CLIENT in bench.paused
    assert len(bench.take()) == 2 * ROOM
    bench.cluster.drained(CLIENT, bench.now_ns)
    assert len(bench.take()) == 10 - 2 * ROOM
    assert CLIENT not in bench.paused


def test_a_client_that_leaves_with_answers_unread_is_gone() -> None:
    bench = subscribed()
    bench.room[CLIENT] = ROOM
    for _ in range(10):
        bench.tell(C.PING)
    bench.leave()
    assert bench.subscribe(conn=OTHER, consumer_id=2).type == C.SUCCESS
