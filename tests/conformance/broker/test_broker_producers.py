"""Producers: names, ids, epochs, receipts, ends."""

from __future__ import annotations

from tests.conformance.broker.bench import Bench, C, T

from assay_conformance.model.case import Topic, Topology
from assay_conformance.model.policy import BrokerSettings
from assay_conformance.wire import NO_ID, MessageMetadata, command, encode
from assay_conformance.wire.pulsar_pb2 import ServerError


def _with_producer() -> Bench:
    bench = Bench()
    bench.connect()
    bench.produce()
    return bench


def test_nameless_producers_get_different_names() -> None:
    bench = Bench()
    bench.connect()
    names = {bench.ask(C.PRODUCER, topic=T, producer_id=number).body.producer_name for number in range(3)}
    assert len(names) == 3


def test_same_id_again_is_answered_as_it_was() -> None:
    bench = _with_producer()
    answer = bench.produce(name="other", topic="elsewhere").body
    assert (answer.producer_name, answer.last_sequence_id) == ("p", -1)


def test_successor_takes_over_the_name() -> None:
    bench = _with_producer()
    bench.step("hold_store", topic="t")
    bench.publish(0)
    bench.request(C.CLOSE_PRODUCER, producer_id=1)
    assert bench.produce(epoch=1).type == C.PRODUCER_SUCCESS


def test_name_of_a_living_producer_is_refused_after_its_pong() -> None:
    bench = _with_producer()
    bench.connect(1)
    bench.request(C.PRODUCER, 1, topic=T, producer_id=1, producer_name="p", epoch=1)
    assert (bench.kinds(0), bench.kinds(1)) == (["PING"], [])
    bench.tell(C.PONG, 0)
    assert [frame.body.error for frame in bench.take(1)] == [ServerError.ProducerBusy]


def test_name_of_a_silent_producer_is_given_away_after_five_seconds() -> None:
    bench = _with_producer()
    bench.connect(1)
    bench.request(C.PRODUCER, 1, topic=T, producer_id=1, producer_name="p")
    bench.wait(4999)
    assert bench.closed == []
    bench.wait(1)
    assert (bench.closed, bench.kinds(1)) == ([0], ["PRODUCER_SUCCESS"])


def test_name_on_the_same_connection_is_refused_at_once() -> None:
    bench = _with_producer()
    assert bench.produce(producer_id=2, epoch=1).body.error == ServerError.ProducerBusy


def test_name_is_free_once_its_connection_ended() -> None:
    bench = _with_producer()
    bench.leave(0)
    bench.connect(1)
    assert bench.produce(1).type == C.PRODUCER_SUCCESS


def test_newcomer_that_left_is_not_admitted() -> None:
    bench = _with_producer()
    bench.connect(1)
    bench.request(C.PRODUCER, 1, topic=T, producer_id=1, producer_name="p")
    bench.leave(1)
    bench.wait(5000)
    bench.connect(2)
    assert bench.produce(2).type == C.PRODUCER_SUCCESS


def test_receipts_come_in_send_order_with_consecutive_entries() -> None:
    bench = _with_producer()
    bench.publish(0, 1, 2)
    receipts = [frame.body for frame in bench.take()]
    assert [(body.sequence_id, body.message_id.entryId) for body in receipts] == [(0, 0), (1, 1), (2, 2)]
    assert {body.highest_sequence_id for body in receipts} == {NO_ID}


def test_receipt_of_a_batch_repeats_its_highest_id() -> None:
    bench = _with_producer()
    bench.publish_batch(6, 4)
    assert bench.take()[-1].body.highest_sequence_id == 9


def test_wrong_checksum_is_a_send_error_and_stores_nothing() -> None:
    bench = _with_producer()
    metadata = MessageMetadata(producer_name="p", sequence_id=0, publish_time=0)
    send = command(C.SEND, producer_id=1, sequence_id=0)
    raw = bytearray(encode(send, metadata=metadata, data=b"x"))
    raw[-1] ^= 1
    bench.put(bytes(raw))
    assert bench.take()[-1].body.error == ServerError.ChecksumError
    assert bench.ids == []


def test_send_without_checksum_is_stored() -> None:
    bench = _with_producer()
    metadata = MessageMetadata(producer_name="p", sequence_id=0, publish_time=0)
    bench.put(encode(command(C.SEND, producer_id=1, sequence_id=0), metadata=metadata, data=b"x", checksum=False))
    assert bench.receipts() == [0]


def test_sequence_ids_without_deduplication_may_repeat() -> None:
    bench = _with_producer()
    bench.publish(5, 5, 3)
    assert bench.content == [5, 5, 3]


def test_send_for_an_unknown_producer_closes_the_connection() -> None:
    bench = Bench()
    bench.connect()
    bench.publish(0, producer_id=9)
    assert (bench.closed, bench.ids) == ([0], [])


def test_send_after_close_closes_the_connection() -> None:
    bench = _with_producer()
    bench.request(C.CLOSE_PRODUCER, producer_id=1)
    bench.publish(0)
    assert (bench.closed, bench.ids) == ([0], [])


def test_send_after_the_brokers_close_is_ignored() -> None:
    bench = _with_producer()
    bench.step("unload", topic="t")
    bench.publish(0)
    assert (bench.closed, bench.ids) == ([], [])


def test_closing_an_unknown_producer_succeeds() -> None:
    bench = Bench()
    bench.connect()
    assert bench.ask(C.CLOSE_PRODUCER, producer_id=77).type == C.SUCCESS


def test_close_is_answered_after_the_sends_before_it() -> None:
    bench = _with_producer()
    bench.step("hold_store", topic="t")
    bench.publish(0, 1)
    bench.request(C.CLOSE_PRODUCER, producer_id=1)
    assert bench.kinds() == []
    bench.step("release", topic="t")
    assert bench.kinds() == ["SEND_RECEIPT", "SEND_RECEIPT", "SUCCESS"]


def test_name_of_a_closing_producer_is_free_once_its_connection_ended() -> None:
    bench = _with_producer()
    bench.step("hold_store", topic="t")
    bench.publish(0)
    bench.request(C.CLOSE_PRODUCER, producer_id=1)
    bench.leave()
    bench.connect(1)
    assert bench.produce(1).type == C.PRODUCER_SUCCESS


def test_close_that_waits_is_answered_by_an_unload() -> None:
    bench = _with_producer()
    bench.step("hold_store", topic="t")
    bench.publish(0)
    bench.request(C.CLOSE_PRODUCER, producer_id=1)
    bench.step("unload", topic="t")
    assert bench.kinds() == ["SUCCESS"]


def test_a_thousand_unwritten_sends_stop_the_reading() -> None:
    bench = _with_producer()
    bench.step("hold_store", topic="t")
    bench.publish(*range(999))
    assert bench.paused == set()
    bench.publish(*range(999, 1500))
    assert bench.paused == {0}
    bench.step("release", topic="t")
    assert (bench.paused, bench.receipts()) == (set(), list(range(1500)))


def _full() -> Bench:
    """Nothing is written, two connections are there, and on the first one came a bit more than the buffer holds."""
    bench = Bench(topology=Topology(topics=(Topic(name="t"),), settings=BrokerSettings(max_pending_mb=1)))
    bench.connect(1)
    bench.connect()
    bench.produce()
    bench.step("hold_store", topic="t")
    metadata = MessageMetadata(producer_name="p", sequence_id=0, publish_time=0)
    bench.put(encode(command(C.SEND, producer_id=1, sequence_id=0), metadata=metadata, data=bytes(1 << 20)))
    return bench


def test_full_buffer_stops_the_reading_of_all_connections() -> None:
    bench = _full()
    assert bench.paused == {0, 1}
    bench.publish(1)
    bench.step("release", topic="t")
    assert (bench.paused, bench.receipts()) == (set(), [0, 1])


def test_what_a_lost_connection_left_unwritten_fills_no_buffer() -> None:
    bench = _full()
    bench.leave()
    assert 1 not in bench.paused


def test_message_beyond_the_topics_limit_is_refused_by_itself() -> None:
    bench = Bench(max_message_bytes=200)
    bench.connect()
    bench.produce()
    metadata = MessageMetadata(producer_name="p", sequence_id=0, publish_time=0)
    bench.put(encode(command(C.SEND, producer_id=1, sequence_id=0), metadata=metadata, data=bytes(200)))
    bench.publish(1)
    refused, taken = bench.take()[-2:]
    assert (refused.body.error, taken.type) == (ServerError.NotAllowedError, C.SEND_RECEIPT)
    assert bench.content == [1]


def test_chunk_beyond_the_topics_limit_is_taken() -> None:
    bench = Bench(max_message_bytes=1)
    bench.connect()
    bench.produce()
    bench.publish_chunk(0, 0, 2)
    assert len(bench.ids) == 1


def test_termination_waits_for_what_is_being_written() -> None:
    bench = _with_producer()
    bench.step("hold_store", topic="t")
    bench.publish(0)
    bench.take()
    bench.step("terminate", topic="t")
    assert (bench.kinds(), bench.content) == (["SEND_RECEIPT", "CLOSE_PRODUCER"], [0])


def test_terminated_topic_takes_no_producer() -> None:
    bench = _with_producer()
    bench.step("terminate", topic="t")
    assert bench.kinds() == ["CLOSE_PRODUCER"]
    assert bench.produce().body.error == ServerError.TopicTerminatedError


def test_old_client_is_cut_off_instead_of_told_to_close() -> None:
    bench = Bench(topology=Topology())
    bench.connect(version=4)
    bench.produce()
    bench.produce(producer_id=2, name="q")
    bench.subscribe()
    bench.subscribe("Shared", consumer_id=2, subscription="reader", durable=False)
    bench.step("unload", topic="t")
    assert (bench.closed, bench.take()) == ([0], [])


def test_initial_subscription_gets_everything_there_is() -> None:
    bench = Bench()
    bench.connect()
    bench.produce(producer_id=2, name="q")
    bench.publish(0, producer_id=2, name="q")
    bench.produce(initial_subscription_name="s")
    bench.publish(1)
    bench.take()
    bench.subscribe(initialPosition="Latest")
    bench.flow(10)
    assert bench.delivered() == [0, 1]
