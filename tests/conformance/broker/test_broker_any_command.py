"""Any commands in any order: the broker never breaks."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conformance.broker.bench import Bench, C, T
from tests.conformance.broker.filling import filled, put
from tests.profiles import scaled

from assay_conformance.broker import ReadBackState
from assay_conformance.broker.handlers import HANDLERS
from assay_conformance.model.case import Rate
from assay_conformance.wire import BaseCommand, CommandType

STEPS = [
    ("unload", {"topic": "t"}),
    ("move", {"topic": "t", "broker": 0}),
    ("hold_store", {"topic": "t"}),
    ("release", {"topic": "t"}),
    ("restart", {}),
    ("fail_store", {"topic": "t"}),
    ("terminate", {"topic": "t"}),
    ("migrate", {"topic": "t", "broker": 0}),
    ("challenge", {"tokens": ["p"]}),
    ("challenge", {"tokens": []}),
    ("set_policy", {"topic": "t", "publish_rate": {"messages": 2}}),
    ("store_entries", {"topic": "t", "entries": [{}, {"members": [{}, {}]}]}),
]


def test_unknown_command_number_ends_the_connection() -> None:
    bench = Bench()
    bench.connect()
    put(bench, BaseCommand(type=99))
    assert bench.closed == [0]


@settings(max_examples=scaled(200), deadline=None)
@given(st.data())
def test_any_commands_in_any_order_break_nothing(data: st.DataObject) -> None:
    def pick(choices: list[Any]) -> Any:
        return data.draw(st.sampled_from(choices))

    bench = Bench(deduplication=pick([True, False]), dispatch_rate=Rate(messages=pick([0, 3])))
    for conn in range(2):
        bench.connect(conn, version=pick([4, 21]))
        bench.produce(conn, name=f"p{conn}")
        bench.request(C.SUBSCRIBE, conn, topic=T, subscription="s", subType=pick([0, 1, 2]), consumer_id=1)
    served = [*HANDLERS]
    for action in data.draw(st.lists(st.sampled_from(["command", "send", "flow", "step", "wait", "leave"]))):
        conn = pick([0, 1])
        if action == "command":
            put(bench, filled(CommandType(pick(served)), pick, everything=True), conn)
        elif action == "send":
            bench.publish(pick([0, 1, 2]), conn=conn)
        elif action == "flow":
            bench.flow(pick([1, 2, 100]), conn=conn)
        elif action == "step":
            verb, args = pick(STEPS)
            bench.step(verb, **args)
        elif action == "wait":
            bench.wait(pick([1, 1000, 6000, 60_000]))
        else:
            bench.leave(conn)
            bench.paused.discard(conn)
            bench.connect(conn)
    bench.wait(10_000)
    held = [state.entries for state in bench.cluster.read_back() if isinstance(state, ReadBackState)]
    assert sorted(id for entries in held for id in entries) == sorted(bench.ids)
    assert all(list(entries) == sorted(entries) for entries in held)
