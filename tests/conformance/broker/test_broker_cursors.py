"""What is written down of cursors, and what a crash leaves of them."""

from __future__ import annotations

from typing import Any

import pytest
from tests.conformance.broker.bench import Bench

from assay_conformance.model.case import Topology
from assay_conformance.model.policy import BrokerSettings


def _acked(*times_ms: int, **settings: Any) -> Bench:
    """Of six entries, number n is acknowledged at the n-th of these times."""
    bench = Bench(topology=Topology(settings=BrokerSettings(**settings), keep_alive_ms=10_000_000))
    bench.connect()
    bench.produce()
    bench.publish(*range(6))
    bench.subscribe("Shared")
    bench.flow(100)
    for entry, time_ms in enumerate(times_ms):
        bench.wait(time_ms - bench.now_ms)
        bench.ack(bench.ids[entry])
    return bench


def _left(bench: Bench, verb: str = "restart", **args: Any) -> list[int]:
    """The entries that are not acknowledged after it."""
    bench.step(verb, **args)
    cursor = bench.cursor()
    known = {id.entry for id in cursor.acked}
    first = 0 if cursor.mark_delete is None else cursor.mark_delete.entry + 1
    return [entry for entry in range(first, 6) if entry not in known]


def test_first_acknowledgment_is_written_at_once() -> None:
    assert _left(_acked(0)) == [1, 2, 3, 4, 5]


def test_acknowledgment_behind_a_write_waits_for_the_next() -> None:
    assert _left(_acked(0, 999)) == [1, 2, 3, 4, 5]


def test_acknowledgment_a_period_behind_writes_those_before_it() -> None:
    assert _left(_acked(0, 999, 1_000)) == [3, 4, 5]


def test_flush_writes_what_waits() -> None:
    bench = _acked(0, 500)
    bench.wait(60_000)
    assert _left(bench) == [2, 3, 4, 5]


def test_period_is_configured() -> None:
    assert _left(_acked(0, 100, cursor_persist_ms=100)) == [2, 3, 4, 5]


@pytest.mark.parametrize(("verb", "args"), [("unload", {"topic": "t"}), ("restart", {"graceful": True})])
def test_broker_that_closes_a_topic_in_order_writes_everything(verb: str, args: dict[str, Any]) -> None:
    assert _left(_acked(0, 1, 2), verb, **args) == [3, 4, 5]


def test_stopping_broker_tells_its_clients_before_it_goes() -> None:
    bench = _acked(0)
    bench.take()
    bench.step("restart", graceful=True)
    assert (bench.kinds(), bench.closed) == (["CLOSE_PRODUCER", "CLOSE_CONSUMER"], [0])
