"""Every command in every state, and any commands in any order: the broker answers by its tables and never breaks."""

from __future__ import annotations

from typing import Any

import pytest
from google.protobuf.descriptor import FieldDescriptor
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conformance.broker.bench import Bench, C, T

from assay_conformance.broker import ReadBackState
from assay_conformance.broker.handlers import HANDLERS
from assay_conformance.model.case import Rate
from assay_conformance.wire import (
    BODY_FIELDS,
    NO_ID,
    PAYLOAD_TYPES,
    BaseCommand,
    CommandType,
    MessageMetadata,
    decode,
    encode_around,
    encode_block,
)

BLOCK = encode_block(MessageMetadata(producer_name="p", sequence_id=0, publish_time=0), b"x")
NUMBERS = [0, 1, 2, NO_ID]
TEXTS = [T, "t", "s", "p", "", "bad://x", "persistent://no/where/t"]
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

Pick = Any
"""Gives a value of a field from the choices there are."""


def _filled(kind: CommandType, pick: Pick, *, everything: bool) -> BaseCommand:
    """A command with its required fields, or with a choice of all of them."""
    built = BaseCommand(type=kind)
    if kind in BODY_FIELDS:
        body = getattr(built, BODY_FIELDS[kind])
        body.SetInParent()
        _fill(body, pick, everything=everything)
    return built


def _fill(message: Any, pick: Pick, *, everything: bool) -> None:
    for field in message.DESCRIPTOR.fields:
        if not field.is_required and not (everything and pick([True, False])):
            continue
        if field.is_repeated:
            if field.message_type is None:
                getattr(message, field.name).append(_value(field, pick))
            else:
                _fill(getattr(message, field.name).add(), pick, everything=False)
        elif field.message_type is not None:
            getattr(message, field.name).SetInParent()
            _fill(getattr(message, field.name), pick, everything=False)
        else:
            setattr(message, field.name, _value(field, pick))


def _value(field: FieldDescriptor, pick: Pick) -> Any:
    if field.enum_type is not None:
        return pick([value.number for value in field.enum_type.values])
    if field.type == FieldDescriptor.TYPE_STRING:
        return pick(TEXTS)
    if field.type == FieldDescriptor.TYPE_BYTES:
        return b""
    if field.type == FieldDescriptor.TYPE_BOOL:
        return pick([True, False])
    number = pick(NUMBERS)
    return number if field.type in (FieldDescriptor.TYPE_UINT64, FieldDescriptor.TYPE_DOUBLE) else number & 0xFF


def _first(choices: list[Any]) -> Any:
    return choices[0]


def _put(bench: Bench, command: BaseCommand, conn: int = 0) -> None:
    block = BLOCK if command.type in PAYLOAD_TYPES else None
    bench.cluster.received(conn, decode(encode_around(command, block)), bench.now_ns)


@pytest.mark.parametrize("kind", [kind for kind in CommandType if kind is not C.CONNECT])
def test_new_connection_ends_at_anything_but_connect(kind: CommandType) -> None:
    bench = Bench()
    bench.cluster.opened(0, 0, 0)
    _put(bench, _filled(kind, _first, everything=False))
    assert (bench.closed, bench.take()) == ([0], [])


@pytest.mark.parametrize("kind", [kind for kind in CommandType if kind not in HANDLERS])
def test_connected_connection_ends_at_what_nobody_serves(kind: CommandType) -> None:
    bench = Bench()
    bench.connect()
    _put(bench, _filled(kind, _first, everything=False))
    assert (bench.closed, bench.take()) == ([0], [])


def test_unknown_command_number_ends_the_connection() -> None:
    bench = Bench()
    bench.connect()
    _put(bench, BaseCommand(type=99))
    assert bench.closed == [0]


@settings(max_examples=200, deadline=None)
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
            _put(bench, _filled(CommandType(pick(served)), pick, everything=True), conn)
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
