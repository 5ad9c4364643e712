"""The check of `batching.flush-closes-batch`, both ways, on histories of a few lines."""

from __future__ import annotations

from typing import Any

from assay_conformance.checks.base import Check
from assay_conformance.checks.trial import trial
from assay_conformance.history.script import MS, NAME, PRODUCER, Script
from assay_conformance.pulsar.checks.batching.flush_closes_batch import flush_closes_batch

FAR: dict[str, Any] = {"batching": True, "batching_max_messages": 100, "batching_max_publish_delay_ms": 5_000}


def _flushed(left_ms: float, called_ms: float | None = None, **config: Any) -> Check:
    story = Script()
    story.producer(**{**FAR, **config})
    story.at(100).send(0)
    flush = story.invoke("flush", PRODUCER)
    story.at(left_ms).send_frame(0, batch=True)
    story.receipt(0)
    story.ok(0, called_ns=100 * MS)
    began: dict[str, Any] = {} if called_ms is None else {"called_ns": round(called_ms * MS)}
    story.complete(flush, **began)
    return trial(flush_closes_batch, story.done())


def test_batch_that_leaves_when_flushed_is_accepted() -> None:
    check = _flushed(105)
    assert (check.findings, check.exercised) == ([], 1)


def test_batch_that_leaves_before_the_flush_began_by_the_clock_of_its_client_is_accepted() -> None:
    check = _flushed(105, called_ms=105.5)
    assert (check.findings, check.exercised) == ([], 1)


def test_batch_that_outlives_a_flush_is_found() -> None:
    assert [finding.code for finding in _flushed(900).findings] == ["stayed-open"]


def test_flush_of_a_batch_that_is_due_shows_nothing() -> None:
    assert _flushed(105, batching_max_publish_delay_ms=50).exercised == 0


def test_batch_that_had_left_before_the_flush_shows_nothing() -> None:
    assert _flushed(100.5).exercised == 0


def _sent_synchronously(left_ms: float, *, receipt_first: bool = True) -> Check:
    story = Script()
    story.producer(**FAR)
    story.at(100).send(0, mode="sync")
    story.at(left_ms).send_frame(0, batch=True)
    for step in (story.receipt, story.ok) if receipt_first else (story.ok, story.receipt):
        step(0)
    return trial(flush_closes_batch, story.done())


def test_synchronous_send_that_leaves_and_returns_with_its_receipt_is_accepted() -> None:
    check = _sent_synchronously(105)
    assert (check.findings, check.exercised) == ([], 2)


def test_synchronous_send_of_a_producer_that_does_not_batch_shows_nothing() -> None:
    story = Script()
    story.producer()
    story.send(0, mode="sync")
    story.send_frame(0)
    story.receipt(0)
    story.ok(0)
    assert trial(flush_closes_batch, story.done()).exercised == 0


def test_synchronous_send_that_waits_for_company_is_found() -> None:
    assert [finding.code for finding in _sent_synchronously(900).findings] == ["stayed-open"]


def test_synchronous_send_leaves_the_batches_of_other_partitions_alone() -> None:
    story = Script()
    story.connected()
    opening = story.invoke("open_producer", PRODUCER, args={"topic": "t", "config": FAR})
    for partition in range(2):
        story.producer_ready(producer_id=partition, topic=f"t-partition-{partition}")
    story.complete(opening, producer_name=NAME)
    story.at(100).send(0)
    story.send(1, mode="sync")
    story.send_frame(1, batch=True, producer_id=1, sequence_id=0)
    story.receipt(0, producer_id=1)
    story.ok(1)
    story.at(5_100).send_frame(0, batch=True)
    story.ok(0)
    check = trial(flush_closes_batch, story.done())
    assert (check.findings, check.exercised) == ([], 2)


def test_synchronous_send_that_returns_before_its_receipt_is_found() -> None:
    assert [finding.code for finding in _sent_synchronously(105, receipt_first=False).findings] == ["returned-early"]


def test_synchronous_send_whose_id_another_had_may_have_had_its_receipt() -> None:
    story = Script()
    story.producer(batching=True)
    story.send(0, mode="sync")
    story.send(1, mode="sync")
    story.send_frame(0, batch=True)
    story.unknown(0)
    story.send_frame(1, batch=True, sequence_id=0)
    story.receipt(0)
    story.ok(1)
    assert trial(flush_closes_batch, story.done()).findings == []
