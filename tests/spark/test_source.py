"""The data source of Pulsar topics: every message once, however a topic is cut into parts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from assay_conformance.model.errors import UsageError
from assay_conformance.model.event import Identity
from assay_conformance.model.payload import digest, generate
from assay_fixtures.light import LightPulsar

pulsar = pytest.importorskip("pulsar")
source = pytest.importorskip("assay_reports.spark.source")

COUNT, SIZE, SEED = 300, 48, 3
PLAIN = "persistent://public/default/read-back"
CHUNKED = "persistent://public/default/chunked"
EMPTY = "persistent://public/default/empty"
LARGE = bytes(range(256)) * 100


@pytest.fixture(scope="module")
def broker() -> Iterator[str]:
    """A broker with batches in one topic, chunks in another, nothing in a third."""
    with LightPulsar() as broker:
        client = pulsar.Client(broker.service_url)
        batches = client.create_producer(PLAIN, batching_enabled=True, batching_max_messages=7)
        for number in range(COUNT):
            batches.send_async(generate(Identity(1, 5, number), SIZE, SEED), lambda *_: None, partition_key="k")
            if number % 50 == 49:
                batches.flush()
        chunks = client.create_producer(CHUNKED, chunking_enabled=True, max_pending_messages=100)
        for _ in range(3):
            chunks.send(LARGE)
        client.create_producer(EMPTY).close()
        client.close()
        yield broker.service_url


def read(url: str, topic: str, **options: str) -> list[dict[str, Any]]:
    reader = source.TopicReader(source.options_of({"service_url": url, "topic": topic, **options}))
    return [row for part in reader.partitions() for batch in reader.read(part) for row in batch.to_pylist()]


@pytest.mark.parametrize("splits", ["1", "4"])
def test_every_message_is_read_once(broker: str, splits: str) -> None:
    rows = read(broker, PLAIN, splits=splits, columns="stored")
    assert sorted(row["seq"] for row in rows) == list(range(COUNT))


def test_rows_are_those_of_the_table_of_what_is_stored(broker: str) -> None:
    row = next(row for row in read(broker, PLAIN, columns="stored") if row["seq"] == 17)
    crc = digest(generate(Identity(1, 5, 17), SIZE, SEED))
    assert row["crc"] == source.signed(crc)
    assert row["crc"] & 0xFFFFFFFF == crc
    assert (row["stream"], row["chunk"], row["chunks"]) == (5, 0, 1)
    assert min(row["ledger"], row["entry"], row["batch"]) >= 0


def test_all_columns_hold_what_was_sent(broker: str) -> None:
    row = next(row for row in read(broker, PLAIN) if row["seq"] == 4)
    assert row["payload"] == generate(Identity(1, 5, 4), SIZE, SEED)
    assert (row["key"], row["size"], row["topic"]) == ("k", SIZE, PLAIN)
    assert row["publish_time_ms"] > 1_600_000_000_000


def test_chunked_messages_come_whole(broker: str) -> None:
    assert [row["payload"] for row in read(broker, CHUNKED)] == [LARGE] * 3


def test_an_empty_topic_has_no_rows(broker: str) -> None:
    assert read(broker, EMPTY) == []


def test_parts_are_bounded_by_what_was_there_when_they_were_planned(broker: str) -> None:
    topic = "persistent://public/default/growing"
    client = pulsar.Client(broker)
    producer = client.create_producer(topic)
    producer.send(b"first")
    reader = source.TopicReader(source.options_of({"service_url": broker, "topic": topic}))
    parts = reader.partitions()
    producer.send(b"later")
    client.close()
    assert [row["payload"] for part in parts for batch in reader.read(part) for row in batch.to_pylist()] == [b"first"]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"topic": "t"}, "'service_url' is missing"),
        ({"service_url": "pulsar://h:1"}, "'topic' is missing"),
        ({"service_url": "pulsar://h:1", "topic": "t", "splits": "0"}, "splits '0'; expected a number from 1"),
        ({"service_url": "pulsar://h:1", "topic": "t", "columns": "few"}, "expected one of all, stored"),
    ],
)
def test_wrong_options_are_refused_by_name(options: dict[str, str], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        source.options_of(options)
