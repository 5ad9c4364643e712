"""The check of `delivery.statistics-per-fault`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar.delivery._histories import judged, two_messages

from assay_conformance.history.script import Script
from assay_conformance.pulsar.checks.delivery.statistics_per_fault import statistics_per_fault


def one_is_lost_in_an_outage(s: Script) -> None:
    s.cut()
    s.send(0)
    s.opened(1)
    s.stored(0)
    s.ok(0)


def test_history_without_an_outage_has_no_window() -> None:
    assert judged(statistics_per_fault, two_messages) == ([], 0)


def test_message_that_is_lost_in_an_outage_is_found() -> None:
    assert judged(statistics_per_fault, one_is_lost_in_an_outage)[0] == ["lost"]
