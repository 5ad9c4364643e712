"""Handshake, lookup, keep-alive, framing and coming back: what producers and consumers share."""

from __future__ import annotations

import pytest
from tests.conformance.client.peer import PRODUCER, TOPIC, URL, Peer

from assay_conformance.client import ClientSettings, Done, Failed, settings
from assay_conformance.client.backoff import Backoff
from assay_conformance.model.errors import UsageError
from assay_conformance.model.event import ErrorClass
from assay_conformance.wire import CommandType as C
from assay_conformance.wire import command, encode
from assay_conformance.wire import pulsar_pb2 as pb

TWO = "pulsar://two:6650"


def types(peer: Peer) -> list[object]:
    return [frame.type for _, _, frame in peer.frames]


# --- handshake and lookup --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("mutations", "frames"), [((), 1), (("requests-before-connected",), 2)])
def test_connect_is_alone_until_connected(mutations: tuple[str, ...], frames: int) -> None:
    peer = Peer(*mutations)
    peer.silent.add(C.CONNECT)
    peer.open_producer()
    assert types(peer)[0] is C.CONNECT
    assert len(peer.frames) == frames


def test_error_to_connect_fails_the_connection_and_it_is_tried_again() -> None:
    peer = Peer()
    peer.silent.add(C.CONNECT)
    peer.open_producer()
    peer.tell(C.ERROR, request_id=0, error=pb.ServiceNotReady, message="x")
    peer.advance(100)
    assert peer.closed_by_client == [0]
    assert len(peer.urls) == 2


def test_open_asks_partitions_then_broker_then_registers() -> None:
    peer = Peer()
    peer.open_producer()
    assert types(peer) == [C.CONNECT, C.PARTITIONED_METADATA, C.LOOKUP, C.PRODUCER]


def test_of_several_brokers_the_next_one_is_asked_when_one_is_not_there() -> None:
    peer = Peer(service_url="pulsar://two:6650,one:6650")
    peer.away.add(TWO)
    opened = peer.open_producer()
    peer.advance(5_000)
    assert peer.urls[:2] == [TWO, URL]
    assert TWO not in peer.urls[1:]
    assert isinstance(peer.results[opened], Done)


@pytest.mark.parametrize(
    ("broker", "named"), [(TWO, ["", TWO.partition("://")[2]]), (URL, [""])], ids=["behind", "is it"]
)
def test_broker_behind_the_proxy_is_named_to_it_unless_it_is_the_proxy_itself(broker: str, named: list[str]) -> None:
    peer = Peer()
    peer.silent.add(C.LOOKUP)
    peer.open_producer()
    asked = peer.written(C.LOOKUP)[0].body.request_id
    peer.tell(
        C.LOOKUP_RESPONSE,
        request_id=asked,
        response=1,
        brokerServiceUrl=broker,
        authoritative=True,
        proxy_through_service_url=True,
    )
    assert peer.urls == [URL] * len(named)
    connects = [frame for _, _, frame in peer.frames if frame.type == C.CONNECT]
    assert [frame.body.proxy_to_broker_url for frame in connects] == named


def test_redirected_lookup_asks_there_with_authority() -> None:
    peer = Peer()
    peer.silent.add(C.LOOKUP)
    peer.open_producer()
    asked = peer.written(C.LOOKUP)[0].body.request_id
    peer.tell(C.LOOKUP_RESPONSE, request_id=asked, response=0, brokerServiceUrl=TWO, authoritative=True)
    assert peer.urls == [URL, TWO]
    assert peer.written(C.LOOKUP, 1)[0].body.authoritative


def test_redirect_loop_ends() -> None:
    peer = Peer(operation_timeout_ms=50)
    peer.silent.add(C.LOOKUP)
    op = peer.open_producer()
    for _ in range(21):
        asked = peer.written(C.LOOKUP)[-1].body.request_id
        peer.tell(C.LOOKUP_RESPONSE, request_id=asked, response=0, brokerServiceUrl=URL)
    peer.advance(0)
    assert isinstance(peer.results[op], Failed)
    assert len(peer.written(C.LOOKUP)) == 21


def test_unknown_topic_fails_the_opening_at_once() -> None:
    peer = Peer()
    peer.silent.add(C.LOOKUP)
    op = peer.open_producer()
    asked = peer.written(C.LOOKUP)[0].body.request_id
    peer.tell(C.LOOKUP_RESPONSE, request_id=asked, response=2, error=pb.TopicNotFound, message="no")
    result = peer.results[op]
    assert isinstance(result, Failed)
    assert result.error is ErrorClass.UNKNOWN_TOPIC


def test_failed_partition_question_is_asked_again() -> None:
    peer = Peer()
    peer.silent.add(C.PARTITIONED_METADATA)
    op = peer.open_producer()
    asked = peer.written(C.PARTITIONED_METADATA)[0].body.request_id
    peer.tell(C.PARTITIONED_METADATA_RESPONSE, request_id=asked, response=1, error=pb.ServiceNotReady, message="x")
    peer.silent.clear()
    peer.advance(100)
    assert isinstance(peer.results[op], Done)


def test_opening_gives_up_at_the_operation_timeout() -> None:
    peer = Peer(operation_timeout_ms=1_000)
    peer.silent.add(C.PRODUCER)
    op = peer.open_producer()
    peer.advance(1_200)
    result = peer.results[op]
    assert isinstance(result, Failed)
    assert result.error is ErrorClass.TIMEOUT


def test_unanswered_registration_is_closed_before_it_is_tried_again() -> None:
    peer = Peer(operation_timeout_ms=1_000)
    peer.open_producer()
    peer.silent.add(C.PRODUCER)
    peer.cut()
    peer.advance(1_300)
    second = [frame.type for _, conn, frame in peer.frames if conn == 1]
    assert second[-4:] == [C.PRODUCER, C.CLOSE_PRODUCER, C.LOOKUP, C.PRODUCER]


def test_producer_that_must_wait_is_opened_whenever_its_turn_comes() -> None:
    peer = Peer(operation_timeout_ms=1_000)
    peer.silent.add(C.PRODUCER)
    op = peer.open_producer(access_mode="wait_for_exclusive")
    asked = peer.written(C.PRODUCER)[0].body.request_id
    peer.tell(C.PRODUCER_SUCCESS, request_id=asked, producer_name="p", producer_ready=False)
    peer.advance(10_000)
    assert op not in peer.results
    peer.tell(C.PRODUCER_SUCCESS, request_id=asked, producer_name="p", producer_ready=True)
    assert isinstance(peer.results[op], Done)


def test_unasked_answers_are_ignored() -> None:
    peer = Peer()
    peer.open_producer()
    peer.tell(C.SUCCESS, request_id=999)
    peer.tell(C.SEND_RECEIPT, producer_id=99, sequence_id=0)
    assert peer.closed_by_client == []


# --- keep-alive ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("mutations", "after_ms"), [((), 0.0), (("pong-late",), 50.0)])
def test_ping_is_answered(mutations: tuple[str, ...], after_ms: float) -> None:
    peer = Peer(*mutations, lateness_ms=50)
    peer.open_producer()
    peer.tell(C.PING)
    peer.advance(100)
    assert peer.times(C.PONG) == [after_ms]


def test_idle_connection_is_pinged_once_an_interval() -> None:
    peer = Peer(keep_alive_ms=100)
    peer.open_producer()
    for _ in range(2):
        peer.advance(100)
        peer.tell(C.PONG)
    peer.advance(100)
    assert peer.times(C.PING) == [100.0, 200.0, 300.0]


def test_connection_with_traffic_is_not_pinged() -> None:
    peer = Peer(keep_alive_ms=100)
    peer.open_producer()
    for _ in range(5):
        peer.advance(60)
        peer.tell(C.SUCCESS, request_id=999)
    assert peer.times(C.PING) == []


@pytest.mark.parametrize(("mutations", "closed"), [((), [0]), (("keeps-silent-connection",), [])])
def test_silent_broker_is_left_after_two_intervals(mutations: tuple[str, ...], closed: list[int]) -> None:
    peer = Peer(*mutations, keep_alive_ms=100)
    peer.open_producer()
    peer.advance(199)
    assert peer.closed_by_client == []
    peer.advance(1)
    assert peer.closed_by_client == closed


# --- framing ---------------------------------------------------------------------------------------------------------


def test_frames_in_pieces_of_one_byte_are_read() -> None:
    peer = Peer()
    peer.open_producer()
    for byte in encode(command(C.PING)):
        peer.deliver(bytes([byte]))
    assert len(peer.written(C.PONG)) == 1


def test_many_frames_in_one_piece_are_read() -> None:
    peer = Peer()
    peer.open_producer()
    peer.deliver(encode(command(C.PING)) * 3)
    assert len(peer.written(C.PONG)) == 3


def test_losing_mutant_is_deaf_to_a_split_length() -> None:
    peer = Peer("loses-split-frame-length")
    peer.open_producer()
    for byte in encode(command(C.PING)):
        peer.deliver(bytes([byte]))
    assert peer.written(C.PONG) == []


def test_impossible_frame_size_closes_the_connection() -> None:
    peer = Peer()
    peer.open_producer()
    peer.deliver(b"\xff\xff\xff\xff")
    assert peer.closed_by_client == [0]


def test_unknown_command_leaves_the_connection_alone() -> None:
    peer = Peer()
    peer.open_producer()
    unknown = pb.BaseCommand(type=99).SerializeToString()
    size = len(unknown).to_bytes(4, "big")
    peer.deliver((len(unknown) + 4).to_bytes(4, "big") + size + unknown)
    assert peer.closed_by_client == []


# --- coming back -----------------------------------------------------------------------------------------------------


def test_backoff_doubles_to_its_cap_and_starts_over_after_success() -> None:
    backoff = Backoff(lambda: 0.0)
    delays_ms = [backoff.next_ns() // 1_000_000 for _ in range(12)]
    assert delays_ms[:4] == [100, 200, 400, 800]
    assert delays_ms[-1] == 60_000
    backoff.reset()
    assert backoff.next_ns() == 100_000_000


def test_backoff_jitter_takes_off_a_tenth_at_most() -> None:
    assert Backoff(lambda: 0.999).next_ns() > 90_000_000


def test_producer_and_consumer_share_a_connection() -> None:
    peer = Peer()
    peer.open_producer()
    peer.open_consumer()
    assert peer.urls == [URL]


def test_failing_reconnects_wait_longer_each_time() -> None:
    peer = Peer()
    peer.open_producer()
    peer.silent.add(C.CONNECT)
    peer.cut()
    for wait_ms in (100, 200, 400):
        before = len(peer.urls)
        peer.advance(wait_ms - 1)
        assert len(peer.urls) == before
        peer.advance(1)
        assert len(peer.urls) == before + 1
        peer.cut()


# --- the client ------------------------------------------------------------------------------------------------------


def test_shutting_down_closes_everything() -> None:
    peer = Peer()
    peer.open_producer()
    peer.open_consumer()
    op = peer.next_op()
    peer.core.shut_down(op, peer.now_ns)
    peer.run()
    assert isinstance(peer.results[op], Done)
    assert {C.CLOSE_PRODUCER, C.CLOSE_CONSUMER} <= set(types(peer))
    assert peer.closed_by_client == [0]


def test_shutting_down_ends_an_opening_too() -> None:
    peer = Peer()
    peer.silent.add(C.PARTITIONED_METADATA)
    opening = peer.open_producer()
    (sending,) = peer.send(b"a")
    op = peer.next_op()
    peer.core.shut_down(op, peer.now_ns)
    peer.run()
    assert {opening, sending, op} <= set(peer.results)


def test_shutting_down_ends_the_opening_of_a_consumer_that_has_its_partitions() -> None:
    peer = Peer()
    peer.silent.add(C.SUBSCRIBE)
    opening, op = peer.open_consumer(), peer.next_op()
    peer.core.shut_down(op, peer.now_ns)
    peer.run()
    assert isinstance(peer.results[opening], Failed)
    assert isinstance(peer.results[op], Done)


def test_call_on_a_handle_never_opened_fails() -> None:
    peer = Peer()
    (op,) = peer.send(b"a")
    result = peer.results[op]
    assert isinstance(result, Failed)
    assert result.certain


def test_wrong_kind_of_handle_fails() -> None:
    peer = Peer()
    peer.open_producer()
    op = peer.next_op()
    peer.core.nack(op, PRODUCER, [1], peer.now_ns)
    assert isinstance(peer.results[op], Failed)


def test_unknown_setting_is_named() -> None:
    with pytest.raises(UsageError, match="colour"):
        settings(ClientSettings, {"colour": 1})


def test_unsubscribe_asks_the_broker_and_ends_the_consumer() -> None:
    peer = Peer()
    peer.open_consumer()
    op = peer.next_op()
    peer.core.unsubscribe(op, 2, peer.now_ns)
    peer.run()
    assert isinstance(peer.results[op], Done)
    assert peer.written(C.SUBSCRIBE)[0].body.topic == TOPIC


# --- another cluster --------------------------------------------------------------------------------------------------

ELSEWHERE = "pulsar://elsewhere:6650"


def _migrates(peer: Peer, kind: int) -> None:
    peer.tell(C.TOPIC_MIGRATED, resource_id=0, resource_type=kind, brokerServiceUrl=ELSEWHERE)


def test_producer_of_a_topic_that_migrated_looks_it_up_elsewhere() -> None:
    peer = Peer()
    peer.open_producer()
    _migrates(peer, 0)
    peer.tell(C.CLOSE_PRODUCER, producer_id=0, request_id=99)
    peer.advance(200)
    assert peer.urls == [URL, ELSEWHERE]
    assert len(peer.written(C.LOOKUP, conn=1)) == 1


def test_consumer_of_a_topic_that_migrated_stays_elsewhere() -> None:
    peer = Peer()
    peer.open_consumer()
    _migrates(peer, 1)
    peer.tell(C.CLOSE_CONSUMER, consumer_id=0, request_id=99)
    peer.advance(200)
    peer.tell(C.CLOSE_CONSUMER, consumer_id=0, request_id=98)
    peer.core.closed(0, peer.now_ns)
    peer.advance(500)
    assert len(peer.written(C.LOOKUP, conn=1)) == 2


def test_others_on_the_connection_stay_where_they_are() -> None:
    peer = Peer()
    peer.open_producer()
    _migrates(peer, 1)
    peer.tell(C.CLOSE_PRODUCER, producer_id=0, request_id=99)
    peer.advance(200)
    assert peer.urls == [URL]
