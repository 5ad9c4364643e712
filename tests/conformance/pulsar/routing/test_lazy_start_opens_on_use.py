"""The check of `routing.lazy-start-opens-on-use`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar._trials import judged
from tests.conformance.pulsar.routing._lazily import Lazily

from assay_conformance.pulsar.checks.routing.lazy_start_opens_on_use import lazy_start_opens_on_use


def test_partition_that_opens_for_a_message_is_accepted() -> None:
    story = Lazily()
    story.registers(0)
    story.send(0)
    story.registers(1)
    assert judged(lazy_start_opens_on_use, story) == ([], 1)


def test_partitions_that_open_before_anything_is_sent_are_found() -> None:
    story = Lazily()
    story.registers(0)
    story.registers(1)
    assert judged(lazy_start_opens_on_use, story) == (["opened-early"], 1)


def test_whoever_does_not_start_lazily_opens_all() -> None:
    story = Lazily(lazy=False)
    story.registers(0)
    story.registers(1)
    assert judged(lazy_start_opens_on_use, story) == ([], 0)


def test_partition_that_registers_again_is_counted_once() -> None:
    story = Lazily()
    story.registers(0)
    story.registers(0)
    assert judged(lazy_start_opens_on_use, story) == ([], 0)
