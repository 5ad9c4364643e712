"""The check of `schema.incompatible-is-final`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar._trials import codes_of, judged
from tests.conformance.pulsar._waiting_producer import Refused, opened

from assay_conformance.checks.trial import trial
from assay_conformance.pulsar.checks.schema.incompatible_is_final import incompatible_is_final


def test_opening_that_ends_with_the_refusal_is_accepted() -> None:
    check = trial(incompatible_is_final, opened("IncompatibleSchema", 10, ended_ms=20).done())
    assert (codes_of(check), check.exercised) == ([], 1)


def test_opening_that_asks_again_is_found() -> None:
    check = trial(incompatible_is_final, opened("IncompatibleSchema", 10, 1_000).done())
    assert codes_of(check) == ["kept-trying", "still-opening"]


def test_whoever_had_been_let_in_may_come_back() -> None:
    story = Refused("IncompatibleSchema")
    story.after(500).producer_asks(1)
    assert judged(incompatible_is_final, story) == ([], 0)
