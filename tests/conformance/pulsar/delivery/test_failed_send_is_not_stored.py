"""The check of `delivery.failed-send-is-not-stored`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar.delivery._histories import deliver, exchange, judged, one_is_refused_and_stored

from assay_conformance.history.script import Script
from assay_conformance.pulsar.checks.delivery.failed_send_is_not_stored import failed_send_is_not_stored


def an_unknown_one_is_stored(s: Script) -> None:
    exchange(s, 0)
    s.send(1)
    s.unknown(1)
    s.stored(1)
    deliver(s, 1)


def test_unknown_send_may_be_stored() -> None:
    assert judged(failed_send_is_not_stored, an_unknown_one_is_stored) == ([], 0)


def test_failed_send_that_is_stored_is_found() -> None:
    assert judged(failed_send_is_not_stored, one_is_refused_and_stored)[0] == ["stored-though-failed"]
