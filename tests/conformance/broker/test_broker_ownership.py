"""Lookups, owners, unloads, moves, restarts."""

from __future__ import annotations

from typing import Any

import pytest
from tests.conformance.broker.bench import Bench, C, T

from assay_conformance.broker.listing import topics_hash
from assay_conformance.model.case import Topic, Topology
from assay_conformance.wire import NO_ID
from assay_conformance.wire.pulsar_pb2 import CommandLookupTopicResponse, ServerError

CONNECT, REDIRECT, FAILED = (
    CommandLookupTopicResponse.Connect,
    CommandLookupTopicResponse.Redirect,
    CommandLookupTopicResponse.Failed,
)


def _two_brokers() -> Bench:
    bench = Bench(topology=Topology(brokers=2))
    bench.connect(0, broker=0)
    bench.connect(1, broker=1)
    return bench


def _lookup(bench: Bench, conn: int, topic: str = T) -> tuple[int, str]:
    body = bench.ask(C.LOOKUP, conn, topic=topic).body
    return body.response, body.brokerServiceUrl


def test_owner_answers_connect() -> None:
    assert _lookup(_two_brokers(), 0) == (CONNECT, "pulsar://broker-0:6650")


def test_other_broker_redirects_until_the_owner_has_loaded_it() -> None:
    bench = _two_brokers()
    assert _lookup(bench, 1) == (REDIRECT, "pulsar://broker-0:6650")
    _lookup(bench, 0)
    assert _lookup(bench, 1) == (CONNECT, "pulsar://broker-0:6650")


def test_moved_topic_is_looked_up_at_its_new_broker() -> None:
    bench = _two_brokers()
    bench.step("move", topic="t", broker=1)
    assert _lookup(bench, 0) == (REDIRECT, "pulsar://broker-1:6650")
    assert _lookup(bench, 1) == (CONNECT, "pulsar://broker-1:6650")


@pytest.mark.parametrize("broker", [0, 1])
def test_only_the_owner_takes_producers(broker: int) -> None:
    bench = _two_brokers()
    bench.step("move", topic="t", broker=1)
    answer = bench.produce(broker)
    expected = C.PRODUCER_SUCCESS if broker == 1 else C.ERROR
    assert answer.type == expected


def test_wrong_broker_asks_to_look_up_again() -> None:
    assert _two_brokers().produce(1).body.error == ServerError.ServiceNotReady


@pytest.mark.parametrize(
    ("topic", "error"),
    [
        ("persistent://public", ServerError.InvalidTopicName),
        ("persistent://public/none/x", ServerError.TopicNotFound),
        ("other://public/default/x", ServerError.InvalidTopicName),
    ],
)
def test_bad_names_fail_in_lookup_and_metadata(topic: str, error: int) -> None:
    bench = Bench()
    bench.connect()
    answers = [bench.ask(kind, topic=topic).body for kind in (C.LOOKUP, C.PARTITIONED_METADATA)]
    assert [answer.error for answer in answers] == [error, error]
    assert answers[0].response == FAILED


def test_short_names_mean_the_default_namespace() -> None:
    bench = Bench()
    bench.connect()
    bench.produce(topic="t")
    bench.publish(0)
    assert bench.stored_entries[0][0] == "t"


def test_partitions_are_told_and_stored_under_their_own_names() -> None:
    bench = Bench(topology=Topology(topics=(Topic(name="t", partitions=3),)))
    bench.connect()
    assert bench.ask(C.PARTITIONED_METADATA, topic="t").body.partitions == 3
    bench.produce(topic=f"{T}-partition-2")
    bench.publish(0)
    topic, id, _ = bench.stored_entries[0]
    assert (topic, id.partition) == ("t-partition-2", 2)


def test_partitioned_topic_itself_is_one_more_topic() -> None:
    bench = Bench(topology=Topology(topics=(Topic(name="t", partitions=3),)))
    bench.connect()
    assert bench.produce().type == C.PRODUCER_SUCCESS
    assert bench.ask(C.PARTITIONED_METADATA, topic=T).body.partitions == 3


def test_unknown_topic_is_created_where_that_is_allowed() -> None:
    bench = Bench()
    bench.connect()
    ask: dict[str, Any] = {"topic": "new", "metadata_auto_creation_enabled": False}
    assert bench.ask(C.PARTITIONED_METADATA, **ask).body.error == ServerError.TopicNotFound
    bench.produce(topic="new")
    assert bench.ask(C.PARTITIONED_METADATA, **ask).body.partitions == 0


def test_subscription_may_refuse_to_create_its_topic() -> None:
    bench = Bench()
    bench.connect()
    answer = bench.subscribe(topic="new", force_topic_creation=False)
    assert answer.body.error == ServerError.TopicNotFound


def test_topics_of_a_namespace_are_listed_by_partition() -> None:
    bench = Bench(topology=Topology(topics=(Topic(name="a"), Topic(name="b", partitions=2))))
    bench.connect()
    answer = bench.ask(C.GET_TOPICS_OF_NAMESPACE, namespace="public/default").body
    prefix = "persistent://public/default/"
    assert list(answer.topics) == [prefix + "a", prefix + "b-partition-0", prefix + "b-partition-1"]


def test_topics_hash_is_the_one_real_brokers_send() -> None:
    # Recorded from Apache Pulsar 4.0.8 for these three topics.
    topics = [f"persistent://public/dd/{name}" for name in ("b27901", "rawc28100", "t27901")]
    assert topics_hash(topics) == "6748444c"


def test_unload_closes_everybody_and_keeps_the_owner() -> None:
    bench = _two_brokers()
    bench.produce(0)
    bench.subscribe(conn=0)
    bench.step("unload", topic="t")
    closes = bench.take(0)
    assert [frame.type for frame in closes] == [C.CLOSE_PRODUCER, C.CLOSE_CONSUMER]
    assert {frame.body.request_id for frame in closes} == {NO_ID}
    assert not any(frame.body.HasField("assignedBrokerServiceUrl") for frame in closes)
    assert bench.produce(0).type == C.PRODUCER_SUCCESS


def test_move_tells_the_new_brokers_url() -> None:
    bench = _two_brokers()
    bench.produce(0)
    bench.subscribe(conn=0)
    bench.step("move", topic="t", broker=1)
    assert {frame.body.assignedBrokerServiceUrl for frame in bench.take(0)} == {"pulsar://broker-1:6650"}


def test_unload_opens_a_new_ledger_and_keeps_the_entries() -> None:
    bench = Bench()
    bench.connect()
    bench.produce()
    bench.publish(0, 1)
    bench.step("unload", topic="t")
    bench.produce()
    bench.publish(2)
    first, _, third = bench.ids
    assert (third.ledger > first.ledger, third.entry) == (True, 0)
    assert bench.read_back() == bench.ids


def test_unload_writes_what_waited_without_a_receipt() -> None:
    bench = Bench()
    bench.connect()
    bench.produce()
    bench.step("hold_store", topic="t")
    bench.publish(0, 1)
    bench.step("unload", topic="t")
    assert (bench.content, bench.kinds()) == ([0, 1], ["CLOSE_PRODUCER"])


def test_restart_closes_the_connections_of_that_broker() -> None:
    bench = _two_brokers()
    bench.step("restart", broker=1)
    assert bench.closed == [1]


def test_restart_loses_what_was_not_written() -> None:
    bench = Bench()
    bench.connect()
    bench.produce()
    bench.publish(0)
    bench.step("hold_store", topic="t")
    bench.publish(1)
    bench.step("restart")
    assert bench.content == [0]


def test_restart_keeps_acks_and_forgets_redelivery_counts() -> None:
    bench = Bench()
    bench.connect()
    bench.produce()
    bench.publish(0, 1)
    bench.subscribe("Shared")
    bench.flow(10)
    bench.redeliver()
    bench.ack(bench.ids[0])
    bench.step("restart")
    bench.connect(1)
    bench.subscribe("Shared", 1)
    bench.flow(10, conn=1)
    found = [(frame.body.message_id.entryId, frame.body.redelivery_count) for frame in bench.take(1)]
    assert found == [(1, 0)]


def test_what_an_unloaded_consumer_had_goes_to_others_only_after_it_was_told() -> None:
    bench = Bench()
    bench.connect()
    bench.produce()
    for consumer_id in (1, 2):
        bench.subscribe("Shared", consumer_id=consumer_id)
    bench.flow(10, consumer_id=1)
    bench.publish(0)
    bench.flow(10, consumer_id=2)
    bench.take()
    bench.step("unload", topic="t")
    told = [
        (frame.type, frame.body.consumer_id) for frame in bench.take() if frame.type in (C.MESSAGE, C.CLOSE_CONSUMER)
    ]
    assert told == [(C.CLOSE_CONSUMER, 1), (C.MESSAGE, 2), (C.CLOSE_CONSUMER, 2)]
