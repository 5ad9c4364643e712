"""Topics that go to another cluster (PIP-188)."""

from __future__ import annotations

from tests.conformance.broker.bench import Bench, C

from assay_conformance.model.case import Topology
from assay_conformance.wire.pulsar_pb2 import CommandLookupTopicResponse, CommandTopicMigrated, ServerError

URL = "pulsar://broker-1:6650"


def _migrated(version: int = 21) -> Bench:
    """A producer and a consumer at broker 0; broker 1 is of the cluster the topic goes to."""
    bench = Bench(topology=Topology(brokers=2))
    bench.connect(0, broker=0, version=version)
    bench.connect(1, broker=1)
    bench.produce()
    bench.publish(0)
    bench.subscribe("Shared", consumer_id=5)
    bench.take()
    bench.step("migrate", topic="t", broker=1)
    return bench


def test_clients_are_told_where_it_went_and_closed() -> None:
    told = [frame.body for frame in _migrated().take() if frame.type == C.TOPIC_MIGRATED]
    assert [(body.resource_id, body.resource_type, body.brokerServiceUrl) for body in told] == [
        (1, CommandTopicMigrated.Producer, URL),
        (5, CommandTopicMigrated.Consumer, URL),
    ]


def test_each_is_told_before_it_is_closed() -> None:
    kinds = _migrated().kinds()
    assert kinds == ["TOPIC_MIGRATED", "TOPIC_MIGRATED", "CLOSE_PRODUCER", "CLOSE_CONSUMER"]


def test_client_that_is_too_old_is_only_closed() -> None:
    assert _migrated(version=19).kinds() == ["CLOSE_PRODUCER", "CLOSE_CONSUMER"]


def test_old_cluster_still_leads_to_itself() -> None:
    bench = _migrated()
    answer = bench.ask(C.LOOKUP, topic="t").body
    assert (answer.response, answer.brokerServiceUrl) == (CommandLookupTopicResponse.Connect, "pulsar://broker-0:6650")


def test_whoever_asks_the_old_cluster_is_told_and_closed() -> None:
    bench = _migrated()
    bench.take()
    bench.request(C.PRODUCER, topic="t", producer_id=1, producer_name="p")
    bench.request(C.SUBSCRIBE, topic="t", subscription="s", subType=1, consumer_id=5)
    assert bench.kinds() == ["TOPIC_MIGRATED", "CLOSE_PRODUCER", "TOPIC_MIGRATED", "CLOSE_CONSUMER"]


def test_client_that_is_too_old_gets_an_error_from_the_old_cluster() -> None:
    bench = _migrated(version=19)
    bench.take()
    assert bench.produce().body.error == ServerError.ServiceNotReady


def test_new_cluster_serves_what_the_old_one_held() -> None:
    bench = _migrated()
    assert bench.produce(1).type == C.PRODUCER_SUCCESS
    bench.subscribe("Shared", conn=1)
    bench.flow(10, conn=1)
    assert bench.delivered(1) == [0]
