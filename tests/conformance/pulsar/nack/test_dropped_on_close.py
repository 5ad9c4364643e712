"""The check of `nack.dropped-on-close`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar.nack._pace import refused

from assay_conformance.pulsar.checks.nack.dropped_on_close import dropped_on_close


def test_close_that_does_not_wait_is_right() -> None:
    story = refused(delay_ms=4_000)
    story.close_consumer()
    assert story.judged(dropped_on_close) == ([], 1)


def test_close_that_waits_is_found() -> None:
    story = refused(delay_ms=4_000)
    story.invoke("close", 2, args={"handle": 2})
    story.after(2_000)
    story.up("CLOSE_CONSUMER", consumer_id=0, request_id=99)
    assert story.judged(dropped_on_close)[0] == ["close-waited"]


def test_close_of_a_lost_consumer_is_not_judged() -> None:
    story = refused(delay_ms=4_000)
    story.cut()
    story.invoke("close", 2, args={"handle": 2})
    assert story.judged(dropped_on_close) == ([], 0)
