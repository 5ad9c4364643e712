"""What a connection may do, and how it ends."""

from __future__ import annotations

from typing import Any

import pytest
from tests.conformance.broker.bench import Bench, C

from assay_conformance.model.case import Topology
from assay_conformance.wire import CommandType


def test_connected_tells_the_lower_version_and_the_size_limit() -> None:
    bench = Bench(topology=Topology(protocol_version=15, max_message_bytes=4096))
    answer = bench.connect(version=21).body
    assert (answer.protocol_version, answer.max_message_size) == (15, 4096)


def test_old_client_is_answered_in_its_version() -> None:
    assert Bench().connect(version=6).body.protocol_version == 6


def test_command_before_connect_closes_the_connection() -> None:
    bench = Bench()
    bench.cluster.opened(0, 0, 0)
    bench.request(C.PRODUCER, topic="t", producer_id=1)
    assert (bench.closed, bench.take()) == ([0], [])


def test_second_connect_closes_the_connection() -> None:
    bench = Bench()
    bench.connect()
    bench.tell(C.CONNECT, client_version="again")
    assert (bench.closed, bench.take()) == ([0], [])


def test_undecodable_bytes_close_the_connection() -> None:
    bench = Bench()
    bench.connect()
    bench.cluster.undecodable(0, 0)
    assert bench.closed == [0]


def test_frames_after_the_end_are_lost() -> None:
    bench = Bench()
    bench.connect()
    bench.cluster.undecodable(0, 0)
    bench.tell(C.PING)
    assert bench.take() == []


@pytest.mark.parametrize("kind", [C.SUCCESS, C.PRODUCER_SUCCESS])
def test_a_brokers_command_from_a_client_closes_the_connection(kind: CommandType) -> None:
    bench = Bench()
    bench.connect()
    fields: dict[str, Any] = {"producer_name": "p"} if kind is C.PRODUCER_SUCCESS else {}
    bench.request(kind, **fields)
    assert bench.closed == [0]


def test_ping_is_answered_at_once() -> None:
    bench = Bench()
    bench.connect()
    bench.tell(C.PING)
    assert bench.kinds() == ["PONG"]


def test_idle_client_is_pinged_every_interval() -> None:
    bench = Bench(topology=Topology(keep_alive_ms=1000))
    bench.connect()
    for _ in range(3):
        bench.wait(1000)
        assert bench.kinds() == ["PING"]
        bench.tell(C.PONG)
    assert bench.closed == []


def test_silence_after_ping_closes_the_connection() -> None:
    bench = Bench(topology=Topology(keep_alive_ms=1000))
    bench.connect()
    bench.wait(1999)
    assert bench.closed == []
    bench.wait(1)
    assert bench.closed == [0]


def test_any_frame_counts_as_a_sign_of_life() -> None:
    bench = Bench(topology=Topology(keep_alive_ms=1000))
    bench.connect()
    bench.wait(1500)
    bench.tell(C.PING)
    bench.wait(600)
    assert bench.closed == []


def test_connection_without_handshake_is_closed_after_an_interval() -> None:
    bench = Bench(topology=Topology(keep_alive_ms=1000))
    bench.cluster.opened(0, 0, 0)
    bench.wait(1000)
    assert bench.closed == [0]


def test_a_closed_connection_leaves_no_deadline_behind() -> None:
    bench = Bench()
    bench.connect()
    bench.leave()
    assert bench.cluster.next_deadline_ns() is None
