"""What a real topic holds, as a Spark table: every message once, however the topic was written and cut into parts."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pulsar as library
import pytest

from assay_conformance.model.event import Identity
from assay_conformance.model.payload import digest, generate
from assay_faults.cleanup_journal import CleanupJournal
from assay_fixtures.brokers.jvm.command import Pulsar
from assay_fixtures.brokers.jvm.standalone import Standalone
from assay_fixtures.brokers.pulsar.admin import Admin
from assay_fixtures.brokers.pulsar.rest import Rest
from assay_fixtures.programs import Kept
from assay_reports.spark.session import Settings, spark_session

pytestmark = pytest.mark.long

SEED = 3
SMALL, LARGE = 100, 40_000
FRAME_BYTES = 8_192
"""The most a broker here takes in one message: a large payload becomes some five chunks."""

SPLITS = ("1", "5")


class Node:
    """A node of real Pulsar, with somebody who sends and somebody who administers."""

    def __init__(self, url: str, client: Any, administer: Callable[[Callable[[Admin], Awaitable[None]]], None]) -> None:
        self.url, self.client, self.administer = url, client, administer

    def topic(self, name: str, partitions: int = 0) -> str:
        topic = f"persistent://public/default/{name}"
        self.administer(lambda admin: admin.create_topic(topic, partitions))
        return topic

    def send(self, topic: str, numbers: range, size: int = SMALL, handle: int = 0, **options: Any) -> None:
        producer = self.client.create_producer(topic, block_if_queue_full=True, **options)
        for number in numbers:
            producer.send_async(payload(handle, number, size), lambda *_: None, partition_key=f"k{number % 7}")
        producer.flush()
        producer.close()


@pytest.fixture(scope="module")
def node(pulsar: Pulsar, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    folder: Path = tmp_path_factory.mktemp("node")
    with CleanupJournal.begin(folder / "ledger") as ledger, asyncio.Runner() as runner:
        kept = {"defaultRetentionTimeInMinutes": "-1", "defaultRetentionSizeInMB": "-1"}
        settings = {**kept, "maxMessageSize": str(FRAME_BYTES)}
        standalone = Standalone(pulsar, data=folder / "data", logs=folder, ledger=ledger, extra=settings)
        runner.run(standalone.__aenter__())
        admin = Admin(Rest([standalone.admin_url]))
        client = library.Client(
            standalone.service_url, logger=library.FileLogger(library.LoggerLevel.Warn, "/dev/stderr")
        )
        try:
            yield Node(standalone.service_url, client, lambda call: runner.run(_of(call(admin))))
        finally:
            client.close()
            runner.run(admin.close())
            runner.run(standalone.__aexit__(None, None, None))


async def _of(call: Awaitable[None]) -> None:
    await call


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    from assay_reports.spark.source import PulsarTopic

    with spark_session(Kept(), Settings(master="local[2]", memory="512m")) as session:
        session.dataSource.register(PulsarTopic)
        yield session


def payload(handle: int, number: int, size: int = SMALL) -> bytes:
    return generate(Identity(1, handle, number), size, SEED)


def read(spark: Any, node: Node, topic: str, **options: str) -> Any:
    from assay_reports.spark.source import FORMAT

    return spark.read.format(FORMAT).options(service_url=node.url, topic=topic, **options).load()


def numbers(frame: Any) -> list[tuple[int, int]]:
    """(handle, number) of every row."""
    return sorted((row.stream, row.seq) for row in frame.select("stream", "seq").collect())


@pytest.mark.parametrize("splits", SPLITS)
def test_batches_on_partitions_are_read_message_by_message(node: Node, spark: Any, splits: str) -> None:
    topic = node.topic(f"batched-{splits}", partitions=3)
    node.send(topic, range(700), batching_enabled=True, batching_max_messages=9)
    rows = read(spark, node, topic, splits=splits).collect()
    assert sorted(row.seq for row in rows) == list(range(700))
    assert {row.topic for row in rows} == {f"{topic}-partition-{number}" for number in range(3)}
    assert {row.payload == payload(0, row.seq) and row.key == f"k{row.seq % 7}" for row in rows} == {True}


@pytest.mark.parametrize("splits", SPLITS)
def test_chunked_messages_come_whole_and_once(node: Node, spark: Any, splits: str) -> None:
    topic = node.topic(f"chunked-{splits}")
    for turn in range(6):
        ours = range(turn * 5, turn * 5 + 5)
        node.send(topic, ours, SMALL, handle=2, batching_enabled=False)
        node.send(topic, ours, LARGE, handle=1, batching_enabled=False, chunking_enabled=True)
    rows = read(spark, node, topic, splits=splits).collect()
    assert sorted((row.stream, row.seq) for row in rows) == [*((1, n) for n in range(30)), *((2, n) for n in range(30))]
    assert {row.payload == payload(1, row.seq, LARGE) for row in rows if row.stream == 1} == {True}


@pytest.mark.parametrize("splits", SPLITS)
def test_a_topic_of_several_ledgers_is_read_through(node: Node, spark: Any, splits: str) -> None:
    topic = node.topic(f"unloaded-{splits}")
    for turn in range(3):
        node.send(topic, range(turn * 50, turn * 50 + 50), batching_enabled=False)
        node.administer(lambda admin: admin.unload(topic))
    frame = read(spark, node, topic, splits=splits)
    assert numbers(frame) == [(0, number) for number in range(150)]
    assert frame.select("ledger").distinct().count() == 3


def test_rows_of_the_table_of_what_is_stored(node: Node, spark: Any) -> None:
    topic = node.topic("stored")
    node.send(topic, range(20), handle=5, batching_enabled=True, batching_max_messages=4)
    frame = read(spark, node, topic, columns="stored")
    assert frame.columns == ["stream", "seq", "ledger", "entry", "batch", "chunk", "chunks", "crc"]
    rows = frame.orderBy("seq").collect()
    assert [row.crc & 0xFFFFFFFF for row in rows] == [digest(payload(5, number)) for number in range(20)]
    places = [(row.ledger, row.entry, row.batch) for row in rows]
    assert places == sorted(set(places))


def test_an_empty_topic_is_an_empty_table(node: Node, spark: Any) -> None:
    assert read(spark, node, node.topic("empty", partitions=2), splits="3").count() == 0


def test_of_partitions_of_which_one_is_empty_the_others_are_read(node: Node, spark: Any) -> None:
    topic = node.topic("half", partitions=2)
    node.send(f"{topic}-partition-1", range(10))
    assert numbers(read(spark, node, topic)) == [(0, number) for number in range(10)]


def test_what_comes_after_the_plan_is_not_read(node: Node) -> None:
    from assay_reports.spark.source import PulsarTopic

    topic = node.topic("growing")
    node.send(topic, range(10))
    reader = PulsarTopic({"service_url": node.url, "topic": topic}).reader(None)
    parts = reader.partitions()
    node.send(topic, range(10, 20))
    assert [row["seq"] for part in parts for batch in reader.read(part) for row in batch.to_pylist()] == list(range(10))


def test_a_topic_that_is_not_there_is_said_in_one_sentence(node: Node, spark: Any) -> None:
    with pytest.raises(Exception, match=r"Topic not found|TopicNotFound|NotFound"):
        read(spark, node, "persistent://public/nowhere/topic").count()
