"""Topics: created by first use or not at all, growing, deleted, and the policies of all levels."""

from __future__ import annotations

import pytest
from tests.conformance.broker.bench import Bench, C

from assay_conformance.broker.names import parse
from assay_conformance.broker.rules import RefusalError
from assay_conformance.model.case import Topic, Topology
from assay_conformance.model.errors import UsageError
from assay_conformance.model.policy import AutoCreation, BrokerSettings, Policies
from assay_conformance.wire.pulsar_pb2 import ServerError

CLOSED = Topology(namespace=Policies(auto_creation=AutoCreation(enabled=False)))
THREE_EACH = Topology(settings=BrokerSettings(policies=Policies(auto_creation=AutoCreation(partitions=3))))
PARTS = Topology(topics=(Topic(name="t", partitions=2),))


def _connected(topology: Topology) -> Bench:
    bench = Bench(topology=topology)
    bench.connect()
    return bench


def _partitions(bench: Bench, topic: str, **fields: bool) -> int:
    return int(bench.ask(C.PARTITIONED_METADATA, topic=topic, **fields).body.partitions)


# --- created by use ---------------------------------------------------------------------------------------------------


def test_first_use_makes_partitions_where_the_policy_says_so() -> None:
    bench = _connected(THREE_EACH)
    assert _partitions(bench, "new") == 3
    assert bench.produce(topic="new-partition-2").type == C.PRODUCER_SUCCESS


def test_question_that_creates_nothing_makes_no_partitions() -> None:
    bench = _connected(THREE_EACH)
    answer = bench.ask(C.PARTITIONED_METADATA, topic="new", metadata_auto_creation_enabled=False).body
    assert answer.error == ServerError.TopicNotFound


def test_topic_of_the_topology_keeps_its_own_number_of_partitions() -> None:
    bench = _connected(THREE_EACH)
    assert _partitions(bench, "t") == 0


@pytest.mark.parametrize("topic", ["new", "new-partition-0"])
def test_first_use_is_refused_where_creation_is_off(topic: str) -> None:
    bench = _connected(CLOSED)
    answers = [bench.produce(topic=topic), bench.subscribe(topic=topic)]
    assert [answer.body.error for answer in answers] == [ServerError.TopicNotFound] * 2


def test_topic_of_the_topology_is_used_where_creation_is_off() -> None:
    assert _connected(CLOSED).produce().type == C.PRODUCER_SUCCESS


def test_partition_beyond_the_last_is_refused() -> None:
    assert _connected(PARTS).produce(topic="t-partition-2").body.error == ServerError.TopicNotFound


# --- growth -----------------------------------------------------------------------------------------------------------


def test_partitions_grow_under_connected_clients() -> None:
    bench = _connected(PARTS)
    bench.produce(topic="t-partition-0")
    bench.step("grow", topic="t", partitions=3)
    assert (bench.take(), _partitions(bench, "t")) == ([], 3)
    assert bench.produce(producer_id=2, topic="t-partition-2").type == C.PRODUCER_SUCCESS


def test_added_partition_has_the_subscriptions_of_the_first() -> None:
    bench = _connected(PARTS)
    bench.subscribe(topic="t-partition-0")
    bench.step("grow", topic="t", partitions=3)
    bench.produce(topic="t-partition-2")
    bench.publish(0)
    bench.subscribe(topic="t-partition-2", consumer_id=2, initialPosition="Latest")
    bench.flow(10, consumer_id=2)
    assert bench.delivered() == [0]


@pytest.mark.parametrize("partitions", [1, 2])
def test_partitions_do_not_shrink(partitions: int) -> None:
    with pytest.raises(UsageError, match="only grows"):
        _connected(PARTS).step("grow", topic="t", partitions=partitions)


def test_topic_without_partitions_does_not_grow() -> None:
    with pytest.raises(UsageError, match="no partitions"):
        _connected(Topology()).step("grow", topic="t", partitions=2)


# --- deletion ---------------------------------------------------------------------------------------------------------


def test_deleted_topic_sends_its_clients_away() -> None:
    bench = _connected(Topology())
    bench.produce()
    bench.subscribe()
    bench.step("delete", topic="t")
    assert bench.kinds() == ["CLOSE_PRODUCER", "CLOSE_CONSUMER"]


def test_deleted_topic_is_empty_when_it_is_created_again() -> None:
    bench = _connected(Topology())
    bench.produce()
    bench.publish(0)
    bench.step("delete", topic="t")
    bench.produce(producer_id=2)
    assert (bench.read_back(), _partitions(bench, "t")) == ([], 0)


def test_deleted_topic_is_not_found_where_creation_is_off() -> None:
    bench = _connected(CLOSED)
    bench.produce()
    bench.step("delete", topic="t")
    assert bench.produce(producer_id=2).body.error == ServerError.TopicNotFound


def test_deleted_topic_takes_all_its_partitions_along() -> None:
    bench = _connected(PARTS)
    bench.step("delete", topic="t")
    assert bench.cluster.topics.of_namespace("public/default") == []


def test_newcomer_that_waited_for_a_deleted_topic_is_refused() -> None:
    bench = _connected(Topology())
    bench.produce()
    bench.connect(1)
    bench.request(C.PRODUCER, 1, topic="t", producer_id=1, producer_name="p")
    bench.step("delete", topic="t")
    bench.leave()
    assert [frame.body.error for frame in bench.take(1)] == [ServerError.TopicNotFound]


# --- termination ------------------------------------------------------------------------------------------------------


def _at_the_end() -> Bench:
    """A consumer that was told so."""
    bench = _connected(Topology())
    bench.produce()
    bench.publish(0)
    bench.subscribe()
    bench.flow(10)
    bench.step("terminate", topic="t")
    bench.ack(*bench.ids)
    assert bench.kinds()[-1] == "REACHED_END_OF_TOPIC"
    return bench


def test_first_consumer_of_a_terminated_topic_without_a_backlog_is_told_the_end() -> None:
    bench = _at_the_end()
    bench.subscribe(consumer_id=2, subscription="other", initialPosition="Latest")
    bench.flow(10, consumer_id=2)
    assert bench.kinds() == ["REACHED_END_OF_TOPIC"]


def test_consumer_that_comes_back_to_the_end_is_not_told_again() -> None:
    bench = _at_the_end()
    bench.leave()
    bench.connect(1)
    bench.subscribe(conn=1)
    bench.flow(10, conn=1)
    assert bench.take(1) == []


def test_consumer_of_a_terminated_topic_is_told_again_when_it_was_loaded_anew() -> None:
    bench = _at_the_end()
    bench.step("unload", topic="t")
    bench.subscribe(consumer_id=2)
    bench.flow(10, consumer_id=2)
    assert bench.kinds() == ["REACHED_END_OF_TOPIC"]


# --- what an administrator does ---------------------------------------------------------------------------------------


def test_topic_is_created_once() -> None:
    topics = Bench().cluster.topics
    topics.create(parse("a"), 2)
    with pytest.raises(RefusalError, match="exists"):
        topics.create(parse("a"))


def test_namespace_that_was_added_takes_topics() -> None:
    bench = _connected(Topology())
    assert bench.produce(topic="public/new/t").body.error == ServerError.ServiceNotReady
    bench.cluster.topics.policies.set_namespace("public/new", Policies())
    assert bench.produce(topic="public/new/t").type == C.PRODUCER_SUCCESS


# --- policies ---------------------------------------------------------------------------------------------------------


def test_partitions_share_what_their_topic_says() -> None:
    bench = _connected(Topology(topics=(Topic(name="t", partitions=2, deduplication=True),)))
    bench.produce(topic="t-partition-1")
    bench.publish(0, 0)
    assert bench.content == [0]


def test_topic_may_switch_off_what_its_namespace_switched_on() -> None:
    bench = _connected(Topology(namespace=Policies(deduplication=True)))
    bench.produce()
    bench.step("set_policy", topic="t", deduplication=False)
    bench.publish(0, 0)
    assert bench.content == [0, 0]


def test_one_producer_too_many_is_refused_until_another_left() -> None:
    bench = _connected(Topology(topics=(Topic(name="t", max_producers=2),)))
    answers = [bench.produce(producer_id=number, name=f"p{number}") for number in range(3)]
    assert answers[2].body.error == ServerError.ProducerBusy
    bench.request(C.CLOSE_PRODUCER, producer_id=0)
    assert bench.produce(producer_id=2, name="p2").type == C.PRODUCER_SUCCESS
