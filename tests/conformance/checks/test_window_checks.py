"""What windows of two lengths cost, both ways, on histories of a few lines."""

from __future__ import annotations

import msgspec
from tests.conformance.checks.consuming import client

from assay_conformance.checks.trial import trial
from assay_conformance.checks.windows import ShortWindowsStallLess
from assay_conformance.history.script import PRODUCER, Script
from assay_conformance.model.case import ConfigValue

OTHER = 3
ALONE_MS = 150
"""How long a send waits that has nobody before it."""


def _waits(short_ms: int, long_ms: int, **apart: ConfigValue) -> tuple[list[str], int]:
    """How long a second send waits with windows of one delay, and with windows of ten; `apart`: what else differs."""
    story = Script()
    for handle, delays in ((PRODUCER, 1), (OTHER, 10)):
        config = {"batching_partition_switch_frequency": delays, **(apart if handle == OTHER else {})}
        story.complete(story.invoke("open_producer", handle, args={"topic": "t", "config": config}))
    for handle, wait_ms in ((PRODUCER, short_ms), (OTHER, long_ms)):
        for number, each_ms in enumerate((ALONE_MS, wait_ms)):
            sent = story.send(number, handle)
            story.at(sent.t_ns / 1e6 + each_ms)
            story.ok(number, handle)
    facts = client(routing="round_robin", batching=True)
    settable = frozenset({"batching_partition_switch_frequency", *apart})
    said = trial(ShortWindowsStallLess, story.done(), facts=msgspec.structs.replace(facts, settable=settable))
    return [finding.code for finding in said.findings], said.exercised


def test_longer_windows_that_cost_more() -> None:
    assert _waits(short_ms=200, long_ms=500) == ([], 1)


def test_longer_windows_that_cost_nothing_show_nothing() -> None:
    assert _waits(short_ms=200, long_ms=190) == ([], 0)


def test_shorter_windows_that_cost_more_are_found() -> None:
    assert _waits(short_ms=500, long_ms=200)[0] == ["stalls-more"]


def test_producers_that_differ_otherwise_are_not_compared() -> None:
    assert _waits(short_ms=500, long_ms=200, batching_max_messages=7) == ([], 0)
