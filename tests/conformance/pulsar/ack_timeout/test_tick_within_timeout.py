"""The check of `ack-timeout.tick-within-timeout`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar.ack_timeout._ack_together import held

from assay_conformance.pulsar.checks.ack_timeout.tick_within_timeout import tick_within_timeout


def test_tick_is_no_longer_than_the_time_out() -> None:
    assert held(400, 3_000, 900).judged(tick_within_timeout) == ([], 1)


def test_tick_longer_than_the_time_out_is_found() -> None:
    assert held(400, 3_000, 3_500).judged(tick_within_timeout)[0] == ["too-late"]


def test_ticks_rounded_down_are_found() -> None:
    assert held(500, 300, 350).judged(tick_within_timeout)[0] == ["too-early"]


def test_whole_ticks_are_the_other_requirements() -> None:
    assert held(600, 300, 100).judged(tick_within_timeout) == ([], 0)
