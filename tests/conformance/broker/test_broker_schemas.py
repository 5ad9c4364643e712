"""Schemas of topics: versions, what may follow what, and who may bring one along."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.conformance.broker.bench import Bench, C

from assay_conformance.broker.rules import RefusalError
from assay_conformance.broker.schemas import Schemas
from assay_conformance.model.policy import SchemaCompatibility as Rule
from assay_conformance.wire.pulsar_pb2 import KeyValue, Schema, ServerError


def _json(**fields: Any) -> Schema:
    """A record of these fields: a type, or a type and a default."""
    made = [
        {"name": name, "type": given[0], "default": given[1]}
        if isinstance(given, tuple)
        else {"name": name, "type": given}
        for name, given in fields.items()
    ]
    data = json.dumps({"type": "record", "name": "R", "fields": made}).encode()
    return Schema(name="public/default/t", type=Schema.Json, schema_data=data)


def _plain(kind: Schema.Type) -> Schema:
    return Schema(name="s", type=kind, schema_data=b"")


ONE, MORE, MORE_OPTIONAL = _json(x="int"), _json(x="int", y="int"), _json(x="int", y=("int", 0))
LESS = _json()
STRING = _plain(Schema.String)


def _v(number: int) -> bytes:
    return number.to_bytes(8, "big")


def _bench(**policies: Any) -> Bench:
    bench = Bench(**policies)
    bench.connect()
    return bench


# --- versions ---------------------------------------------------------------------------------------------------------


def test_versions_count_from_zero_in_eight_bytes() -> None:
    bench = _bench()
    answers = [
        bench.produce(producer_id=number, name=f"p{number}", schema=schema).body.schema_version
        for number, schema in enumerate([ONE, MORE_OPTIONAL, ONE])
    ]
    assert answers == [_v(0), _v(1), _v(0)]


def test_producer_without_a_schema_has_no_version() -> None:
    assert _bench().produce().body.schema_version == b""


def test_partitions_share_their_schemas() -> None:
    bench = _bench(partitions=2)
    bench.produce(topic="t-partition-0", schema=ONE)
    assert bench.ask(C.GET_SCHEMA, topic="t-partition-1").body.schema_version == _v(0)


def test_latest_schema_is_told_unless_a_version_is_named() -> None:
    bench = _bench()
    for number, schema in enumerate([ONE, MORE_OPTIONAL]):
        bench.produce(producer_id=number, name=f"p{number}", schema=schema)
    named = bench.ask(C.GET_SCHEMA, topic="t", schema_version=_v(0)).body
    latest = bench.ask(C.GET_SCHEMA, topic="t").body
    assert (named.schema, latest.schema, latest.schema_version) == (ONE, MORE_OPTIONAL, _v(1))


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({}, ServerError.TopicNotFound),
        ({"schema_version": _v(7)}, ServerError.TopicNotFound),
        ({"schema_version": b""}, ServerError.IncompatibleSchema),
        ({"topic": "bad://x"}, ServerError.InvalidTopicName),
    ],
)
def test_schema_that_is_not_there_is_not_told(fields: dict[str, Any], error: ServerError) -> None:
    assert _bench().ask(C.GET_SCHEMA, **{"topic": "t"} | fields).body.error_code == error


def test_further_schema_of_a_producer_gets_a_version() -> None:
    bench = _bench()
    bench.produce(schema=ONE)
    assert bench.ask(C.GET_OR_CREATE_SCHEMA, topic="t", schema=MORE_OPTIONAL).body.schema_version == _v(1)


def test_further_schema_of_no_type_has_an_empty_version() -> None:
    bench = _bench()
    bench.produce()
    asked = bench.ask(C.GET_OR_CREATE_SCHEMA, topic="t", schema=_plain(Schema.NoSchema)).body
    assert (asked.HasField("schema_version"), asked.schema_version) == (True, b"")
    assert bench.ask(C.GET_SCHEMA, topic="t").body.error_code == ServerError.TopicNotFound


def test_further_schema_of_no_type_is_refused_where_messages_must_have_one() -> None:
    bench = _bench(schema_required=True)
    bench.produce(schema=ONE)
    answer = bench.ask(C.GET_OR_CREATE_SCHEMA, topic="t", schema=_plain(Schema.NoSchema)).body
    assert answer.error_code == ServerError.IncompatibleSchema


@pytest.mark.parametrize(
    ("topic", "schema", "error"),
    [("t", MORE, ServerError.IncompatibleSchema), ("other", ONE, ServerError.TopicNotFound)],
)
def test_further_schema_may_be_refused(topic: str, schema: Schema, error: ServerError) -> None:
    bench = _bench()
    bench.produce(schema=ONE)
    assert bench.ask(C.GET_OR_CREATE_SCHEMA, topic=topic, schema=schema).body.error_code == error


def test_deleted_schemas_leave_their_numbers_behind() -> None:
    schemas = Schemas()
    schemas.add("t", ONE, Rule.FULL)
    schemas.delete("t")
    assert (schemas.latest("t"), schemas.add("t", STRING, Rule.FULL).number) == (None, 2)


# --- what may follow --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "old", "new", "follows"),
    [
        (Rule.FULL, ONE, MORE_OPTIONAL, True),
        (Rule.FULL, ONE, MORE, False),
        (Rule.FULL, ONE, LESS, False),
        (Rule.BACKWARD, ONE, LESS, True),
        (Rule.BACKWARD, ONE, MORE, False),
        (Rule.FORWARD, ONE, MORE, True),
        (Rule.FORWARD, ONE, LESS, False),
        (Rule.ALWAYS_COMPATIBLE, ONE, STRING, True),
        (Rule.ALWAYS_INCOMPATIBLE, ONE, MORE_OPTIONAL, False),
        (Rule.ALWAYS_INCOMPATIBLE, ONE, ONE, True),
        (Rule.FULL, STRING, STRING, True),
        (Rule.FULL, STRING, _plain(Schema.Int32), False),
        (Rule.FULL, ONE, STRING, False),
    ],
)
def test_what_may_follow_what(rule: Rule, old: Schema, new: Schema, follows: bool) -> None:
    schemas = Schemas()
    schemas.add("t", old, rule)
    if follows:
        schemas.add("t", new, rule)
    else:
        with pytest.raises(RefusalError):
            schemas.add("t", new, rule)


@pytest.mark.parametrize(("rule", "follows"), [(Rule.BACKWARD, True), (Rule.BACKWARD_TRANSITIVE, False)])
def test_transitive_rules_ask_every_version(rule: Rule, follows: bool) -> None:
    """Reads data of the second version, and not that of the first, which had no y."""
    schemas = Schemas()
    for schema in (ONE, MORE_OPTIONAL):
        schemas.add("t", schema, rule)
    if follows:
        assert schemas.add("t", MORE, rule).number == 2
    else:
        with pytest.raises(RefusalError):
            schemas.add("t", MORE, rule)


def _pair(key: Schema, value: Schema) -> Schema:
    data = b"".join(len(part.schema_data).to_bytes(4, "big") + part.schema_data for part in (key, value))
    properties = [
        KeyValue(key=f"{name}.schema.type", value=Schema.Type.Name(part.type).upper())
        for name, part in (("key", key), ("value", value))
    ]
    return Schema(name="kv", type=Schema.KeyValueSchema, schema_data=data, properties=properties)


@pytest.mark.parametrize(
    ("new", "follows"), [(_pair(STRING, MORE_OPTIONAL), True), (_pair(STRING, MORE), False), (_pair(ONE, ONE), False)]
)
def test_key_and_value_are_compared_each(new: Schema, follows: bool) -> None:
    schemas = Schemas()
    schemas.add("t", _pair(STRING, ONE), Rule.FULL)
    if follows:
        schemas.add("t", new, Rule.FULL)
    else:
        with pytest.raises(RefusalError):
            schemas.add("t", new, Rule.FULL)


def test_data_that_is_no_schema_is_refused() -> None:
    bad = Schema(name="public/default/t", type=Schema.Avro, schema_data=b"{")
    assert _bench().produce(schema=bad).body.error == ServerError.IncompatibleSchema


# --- policies ---------------------------------------------------------------------------------------------------------


def test_policy_chooses_the_rule() -> None:
    bench = _bench(schema_compatibility=Rule.FORWARD)
    bench.produce(schema=ONE)
    assert bench.produce(producer_id=2, name="q", schema=MORE).body.schema_version == _v(1)


def test_versions_may_be_closed_to_clients() -> None:
    bench = _bench(schema_auto_update=False)
    assert bench.produce(schema=ONE).body.error == ServerError.IncompatibleSchema


@pytest.mark.parametrize(("required", "answer"), [(True, C.ERROR), (None, C.PRODUCER_SUCCESS)])
def test_producer_without_a_schema_on_a_topic_that_has_one(required: bool | None, answer: int) -> None:
    bench = _bench(schema_required=required)
    bench.produce(schema=ONE)
    assert bench.produce(producer_id=2, name="q").type == answer


# --- consumers --------------------------------------------------------------------------------------------------------


def test_first_consumer_of_an_unused_topic_brings_its_schema() -> None:
    bench = _bench()
    assert bench.subscribe(schema=ONE).type == C.SUCCESS
    assert bench.ask(C.GET_SCHEMA, topic="t").body.schema == ONE


def test_consumer_with_a_schema_is_refused_by_a_topic_in_use_without_one() -> None:
    bench = _bench()
    bench.produce()
    assert bench.subscribe(schema=ONE).body.error == ServerError.IncompatibleSchema


@pytest.mark.parametrize(
    ("schema", "answer"),
    [(ONE, C.SUCCESS), (LESS, C.SUCCESS), (MORE, C.ERROR), (_plain(Schema.AutoConsume), C.SUCCESS), (STRING, C.ERROR)],
)
def test_consumer_has_to_read_what_is_there(schema: Schema, answer: int) -> None:
    bench = _bench()
    bench.produce(schema=ONE)
    assert bench.subscribe(schema=schema).type == answer


def test_consumer_with_data_that_is_no_schema_is_refused() -> None:
    bench = _bench()
    bench.produce(schema=ONE)
    bad = Schema(name="public/default/t", type=Schema.Json, schema_data=b"{")
    assert bench.subscribe(schema=bad).body.error == ServerError.IncompatibleSchema


@pytest.mark.parametrize(("rule", "answer"), [(Rule.FULL, C.SUCCESS), (Rule.FULL_TRANSITIVE, C.ERROR)])
def test_consumer_counts_as_a_new_version_under_a_transitive_rule(rule: Rule, answer: int) -> None:
    """It reads what is there, and what it would write could not be read."""
    bench = _bench(schema_compatibility=rule)
    bench.produce(schema=ONE)
    assert bench.subscribe(schema=LESS).type == answer


def test_consumer_adds_no_version_where_there_is_one() -> None:
    bench = _bench()
    bench.produce(schema=ONE)
    bench.subscribe(schema=LESS)
    assert bench.ask(C.GET_SCHEMA, topic="t").body.schema == ONE


def test_consumer_that_takes_any_schema_does_not_use_up_a_topic() -> None:
    bench = _bench()
    bench.subscribe(schema=_plain(Schema.AutoConsume))
    assert bench.subscribe(consumer_id=2, subscription="other", schema=ONE).type == C.SUCCESS
