"""The check of `routing.round-robin-batching-window`, both ways, on histories of a few lines."""

from __future__ import annotations

from typing import Any

from tests.conformance.pulsar.routing._partitions import Story

from assay_conformance.pulsar.checks.routing.round_robin_batching_window import round_robin_batching_window

WINDOWS: dict[str, Any] = {
    "routing": "round_robin",
    "batching": True,
    "batching_max_publish_delay_ms": 100,
    "batching_partition_switch_frequency": 2,
    "batching_max_messages": 1_000,
    "batching_max_bytes": 100_000,
}


def _every_50_ms(*partitions: int, **config: Any) -> tuple[list[str], int]:
    story = Story(**{**WINDOWS, **config})
    for number, partition in enumerate(partitions):
        story.at(100 + 50 * number)
        story.goes(number, partition)
    return story.judged(round_robin_batching_window)


def test_windows_are_accepted() -> None:
    assert _every_50_ms(3, 3, 4, 4, 4, 4, 0, 0) == ([], 1)


def test_turns_by_message_are_found() -> None:
    assert _every_50_ms(3, 4, 0) == (["left-early"], 1)


def test_window_may_last_one_delay_more() -> None:
    assert _every_50_ms(*[3] * 7) == ([], 0)


def test_partition_that_stays_is_found() -> None:
    assert _every_50_ms(*[3] * 9) == (["stayed-too-long"], 0)


def test_partition_left_out_is_found() -> None:
    assert _every_50_ms(3, 4, 4, 4, 4, 1) == (["out-of-turn"], 1)


def test_full_batch_may_leave_before_its_window() -> None:
    assert _every_50_ms(3, 4, 0, batching_max_messages=1) == ([], 1)


def test_turns_without_batching_are_another_matter() -> None:
    assert _every_50_ms(3, 4, 0, batching=False) == ([], 0)
