"""Non-persistent topics: who gets a message, and what becomes of the rest."""

from __future__ import annotations

from typing import Any

import pytest
from tests.conformance.broker.bench import Bench, C

from assay_conformance.model.case import Rate
from assay_conformance.wire.pulsar_pb2 import ServerError

T = "non-persistent://public/default/t"


def _bench(**policy: Any) -> Bench:
    """Connection 9 publishes."""
    bench = Bench(persistent=False, **policy)
    bench.connect(9)
    bench.produce(9, topic=T)
    return bench


def _consume(bench: Bench, conn: int = 0, permits: int = 10, kind: str = "Exclusive", **fields: Any) -> None:
    bench.connect(conn)
    bench.subscribe(kind, conn, topic=T, consumer_name=f"c{conn}", **fields)
    bench.take(conn)
    if permits:
        bench.flow(permits, conn=conn)


def test_receipt_names_no_place() -> None:
    bench = _bench()
    bench.publish(0, conn=9)
    position = bench.take(9)[-1].body.message_id
    assert (position.ledgerId, position.entryId) == (0, 0)


def test_nothing_is_stored() -> None:
    bench = _bench(deduplication=True)
    bench.publish(0, 0, conn=9)
    assert (bench.stored_entries, bench.read_back(), bench.receipts(9)) == ([], [], [0, 0])


def test_message_goes_to_every_subscription() -> None:
    bench = _bench()
    _consume(bench, 0)
    _consume(bench, 1, subscription="other")
    bench.publish(0, conn=9)
    assert (bench.delivered(0), bench.delivered(1)) == ([0], [0])


def test_message_for_an_absent_consumer_is_lost() -> None:
    bench = _bench()
    bench.publish(0, conn=9)
    _consume(bench)
    bench.publish(1, conn=9)
    assert bench.delivered() == [1]


def test_message_without_permits_is_lost() -> None:
    bench = _bench()
    _consume(bench, permits=1)
    bench.publish(0, 1, conn=9)
    bench.flow(10)
    bench.publish(2, conn=9)
    assert bench.delivered() == [0, 2]


def test_message_beyond_the_rate_is_lost() -> None:
    bench = _bench(dispatch_rate=Rate(messages=2))
    _consume(bench)
    bench.publish(0, 1, 2, conn=9)
    bench.wait(5_000)
    assert bench.delivered() == [0, 1]


def test_nothing_is_redelivered() -> None:
    bench = _bench()
    _consume(bench, kind="Shared")
    bench.publish(0, conn=9)
    bench.take()
    bench.redeliver()
    assert bench.take() == []


def test_shared_consumers_take_turns() -> None:
    bench = _bench()
    _consume(bench, 0, kind="Shared")
    _consume(bench, 1, kind="Shared")
    bench.publish(*range(4), conn=9)
    assert [len(bench.delivered(conn)) for conn in (0, 1)] == [2, 2]


def test_key_shared_consumers_have_their_keys() -> None:
    bench = _bench()
    _consume(bench, 0, kind="Key_Shared")
    _consume(bench, 1, kind="Key_Shared")
    bench.publish(*range(4), conn=9, meta={"partition_key": "k"})
    assert sorted(len(bench.delivered(conn)) for conn in (0, 1)) == [0, 4]


def test_next_failover_consumer_takes_over_untold() -> None:
    bench = _bench()
    _consume(bench, 1, kind="Failover")
    _consume(bench, 2, kind="Failover")
    bench.take(2)
    bench.leave(1)
    assert bench.take(2) == []
    bench.publish(0, conn=9)
    assert bench.delivered(2) == [0]


@pytest.mark.parametrize("verb", ["unload", "restart"])
def test_subscriptions_do_not_outlive_the_broker(verb: str) -> None:
    bench = _bench()
    _consume(bench)
    bench.step(verb, **({"topic": "t"} if verb == "unload" else {}))
    assert not list(bench.cluster.topics.of_local("t")[0].subscriptions)


def test_there_is_no_last_message() -> None:
    bench = _bench()
    _consume(bench)
    bench.publish(0, conn=9)
    bench.take()
    assert bench.ask(C.GET_LAST_MESSAGE_ID, consumer_id=1).body.error == ServerError.UnknownError


def test_durability_is_not_looked_at() -> None:
    bench = _bench()
    _consume(bench, 1)
    bench.leave(1)
    bench.connect(2)
    answer = bench.ask(C.SUBSCRIBE, 2, topic=T, subscription="s", subType="Exclusive", consumer_id=1, durable=False)
    assert answer.type == C.SUCCESS


def test_topic_that_was_used_takes_no_schema_of_a_consumer() -> None:
    bench = _bench()
    bench.publish(0, conn=9)
    bench.leave(9)
    bench.connect(1)
    schema = {"name": "s", "type": "String", "schema_data": b""}
    ask = {"topic": T, "subscription": "s", "subType": "Exclusive", "consumer_id": 1, "schema": schema}
    assert bench.ask(C.SUBSCRIBE, 1, **ask).body.error == ServerError.IncompatibleSchema
