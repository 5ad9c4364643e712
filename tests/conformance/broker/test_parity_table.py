"""The parity table: `same` is earned on both sides, and what cannot run names what is missing."""

from __future__ import annotations

import re

import pytest
from tests.replay import parity
from tests.replay.brokers import Cell, Row, Summary, compared
from tests.replay.normal import CHOSEN

from assay_conformance.model.verdict import Verdict

R = "resend.keeps-queue-order"


def ran(broker: str, verdict: Verdict = Verdict.PASS, exercised: int = 3, missing: tuple[str, ...] = ()) -> Summary:
    return Summary(
        broker=broker,
        broker_version="1",
        client="reference",
        client_version="1",
        rows={R: Row("client", verdict, exercised)},
        missing={R: missing} if missing else {},
    )


def test_same_verdict_with_occurrences_on_both_sides_is_the_same() -> None:
    assert compared(ran("embedded"), ran("jvm", exercised=5), R) == Cell("same", "seen 3 and 5")


def test_same_verdict_without_an_occurrence_is_not() -> None:
    cell = compared(ran("embedded"), ran("jvm", exercised=0), R)
    assert cell == Cell("undecided", "its precondition did not occur in that run")


def test_what_cannot_run_names_the_lever() -> None:
    cell = compared(ran("embedded"), ran("jvm", exercised=0, missing=("no hold_store",)), R)
    assert cell == Cell("not runnable", "no hold_store")


def test_what_the_client_is_not_capable_of_is_named() -> None:
    cell = compared(ran("embedded", exercised=0), ran("jvm", exercised=0), R, "ack_receipt")
    assert cell == Cell("not runnable", "reference: its agent declares no ack_receipt")


def test_other_verdict_differs_and_waits_for_its_reason() -> None:
    cell = compared(ran("embedded"), ran("jvm", Verdict.FAIL), R)
    assert cell == Cell("differs", "pass and fail: not explained yet")


def test_run_that_could_not_tell_is_no_difference() -> None:
    assert compared(ran("embedded"), ran("jvm", Verdict.INCONCLUSIVE), R).word == "undecided"


def test_every_difference_that_was_seen_is_explained() -> None:
    assert "not explained yet" not in parity.PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("behaviour", CHOSEN)
def test_every_chosen_difference_names_a_class_or_setting_of_pulsars(behaviour: str) -> None:
    assert re.search(r"\b[A-Za-z]+[a-z][A-Z][A-Za-z]+\b", CHOSEN[behaviour].replace("BookKeeper", ""))
