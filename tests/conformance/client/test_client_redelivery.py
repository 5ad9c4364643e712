"""Redelivery and acknowledgment in the finer points: backoff, precision, ticks, merging, and what is held meanwhile."""

from __future__ import annotations

from typing import Any

import pytest
from tests.conformance.client.peer import Peer

from assay_conformance.client.nacks import nack_delay_ms
from assay_conformance.client.settings import ConsumerSettings
from assay_conformance.wire import CommandType as C

REDELIVER = C.REDELIVER_UNACKNOWLEDGED_MESSAGES


def consuming(*mutations: str, **config: Any) -> Peer:
    peer = Peer(*mutations)
    peer.open_consumer(**{"subscription_type": "shared", **config})
    return peer


def holding(count: int, *mutations: str, **config: Any) -> Peer:
    peer = consuming(*mutations, **config)
    for entry in range(count):
        peer.message(entry)
    peer.receive(count)
    return peer


def asked_for(peer: Peer) -> list[list[int]]:
    return [[named.entryId for named in frame.body.message_ids] for frame in peer.written(REDELIVER)]


# --- refusals --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("count", "delay_ms"), [(0, 10_000), (1, 20_000), (4, 160_000), (6, 600_000), (100, 600_000)])
def test_backoff_doubles_from_its_least_to_its_most(count: int, delay_ms: int) -> None:
    settings = ConsumerSettings(nack_backoff_min_ms=10_000, nack_backoff_max_ms=600_000, nack_backoff_multiplier=2)
    assert nack_delay_ms(settings, count) == delay_ms


def test_without_backoff_every_refusal_waits_the_same() -> None:
    assert nack_delay_ms(ConsumerSettings(nack_delay_ms=300), 5) == 300


def test_redelivered_message_waits_for_its_backoff() -> None:
    peer = consuming(nack_backoff_min_ms=100, nack_backoff_max_ms=1_000)
    peer.message(0, b"payload", 2)
    peer.receive(1)
    peer.nack(1)
    peer.advance(1_000)
    assert peer.times(REDELIVER) == [400.0]


def test_coarse_precision_asks_earlier_and_together() -> None:
    peer = holding(2, nack_delay_ms=300, nack_precision_ms=256)
    peer.advance(230)
    peer.nack(1)
    peer.advance(60)
    peer.nack(2)
    peer.advance(1_000)
    assert peer.times(REDELIVER) == [512.0]
    assert asked_for(peer) == [[0, 1]]


def test_one_command_asks_for_a_thousand_messages_at_most() -> None:
    peer = consuming(nack_delay_ms=100)
    for entry in range(1_001):
        peer.message(entry)
    peer.receive(1_001)
    peer.nack(*range(1, 1_002))
    peer.advance(100)
    assert [len(ids) for ids in asked_for(peer)] == [1_000, 1]


# --- the acknowledgment time-out -------------------------------------------------------------------------------------


def test_message_is_asked_for_between_the_timeout_and_a_tick_more() -> None:
    peer = consuming(ack_timeout_ms=200, ack_timeout_tick_ms=50)
    peer.message(0)
    peer.receive(1)
    peer.advance(30)
    peer.message(1)
    peer.receive(1)
    peer.advance(1_000)
    assert peer.times(REDELIVER) == [250.0]
    assert asked_for(peer) == [[0, 1]]


def test_half_acknowledged_batch_is_still_waited_for() -> None:
    peer = consuming(ack_timeout_ms=200, ack_timeout_tick_ms=50)
    peer.batch(0, b"a", b"b")
    peer.receive(2)
    peer.ack(1)
    peer.advance(1_000)
    assert asked_for(peer) == [[0]]


def test_cumulative_acknowledgment_ends_the_time_of_all_it_covers() -> None:
    peer = holding(3, subscription_type="exclusive", ack_timeout_ms=200, ack_timeout_tick_ms=50)
    peer.ack(3, cumulative=True)
    peer.advance(1_000)
    assert asked_for(peer) == []


def test_request_for_everything_ends_the_time_of_everything() -> None:
    peer = holding(2, subscription_type="exclusive", ack_timeout_ms=200, ack_timeout_tick_ms=50)
    peer.advance(2_000)
    assert peer.times(REDELIVER) == [250.0]


# --- acknowledgments under way ---------------------------------------------------------------------------------------


def test_message_of_a_batch_whose_acknowledgment_is_held_is_dropped_when_it_comes_again() -> None:
    peer = consuming(batch_index_ack=True, ack_group_ms=500, receiver_queue_size=2)
    peer.batch(0, b"a", b"b")
    peer.receive(2)
    peer.ack(1)
    peer.batch(0, b"a", b"b")
    peer.receive(2)
    assert [delivery.payload for delivery in peer.deliveries] == [b"a", b"b", b"b"]


def test_cumulative_acknowledgment_that_goes_no_further_is_not_sent() -> None:
    peer = holding(2, subscription_type="exclusive", ack_group_ms=0)
    peer.ack(2, cumulative=True)
    peer.ack(2, cumulative=True)
    peer.ack(1, cumulative=True)
    assert peer.acked() == [(1,)]


def test_cumulative_acknowledgment_moves_on_inside_a_batch_by_index() -> None:
    peer = consuming(subscription_type="exclusive", ack_group_ms=0, batch_index_ack=True)
    peer.batch(0, b"a", b"b", b"c")
    peer.receive(3)
    peer.ack(2, cumulative=True)
    peer.ack(1, cumulative=True)
    peer.ack(3, cumulative=True)
    sets = [list(frame.body.message_id[0].ack_set) for frame in peer.written(C.ACK)]
    assert sets == [[0b100], []]


def test_full_group_leaves_before_its_interval() -> None:
    peer = holding(3, ack_group_ms=500, ack_group_max=3)
    peer.ack(1)
    peer.ack(2)
    assert peer.acked() == []
    peer.ack(3)
    assert peer.acked() == [(0, 1, 2)]


def test_acknowledgments_made_without_a_connection_go_out_before_the_permits() -> None:
    peer = holding(2, ack_group_ms=50)
    peer.cut()
    peer.ack(1, 2)
    peer.advance(1_000)
    later = [frame.type for _, conn, frame in peer.frames if conn == peer.conn and frame.type in (C.ACK, C.FLOW)]
    assert later == [C.ACK, C.FLOW]
