"""The check of `routing.round-robin-random-start`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar.routing._first_partition import judged

from assay_conformance.pulsar.checks.routing.round_robin_random_start import round_robin_random_start


def test_keys_say_nothing_of_where_turns_begin() -> None:
    assert judged(round_robin_random_start, "round_robin", lambda _: 2, key="k") == ([], 0)


def test_each_is_about_its_own_mode() -> None:
    assert judged(round_robin_random_start, "single", lambda _: 2) == ([], 0)
