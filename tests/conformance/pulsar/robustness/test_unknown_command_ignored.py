"""The check of `robustness.unknown-command-ignored`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar._trials import judged
from tests.conformance.pulsar.robustness._malformed import consuming

from assay_conformance.history.script import Script
from assay_conformance.model.event import ClosedBy, Fate, Sides
from assay_conformance.pulsar.checks.robustness.unknown_command_ignored import unknown_command_ignored


def _unknown() -> Script:
    story = consuming()
    story.down("999", sides=Sides.RECEIVER, fate=Fate.INJECTED)
    return story


def test_client_goes_on_behind_an_unknown_command() -> None:
    story = _unknown()
    story.flow(5)
    assert judged(unknown_command_ignored, story) == ([], 1)


def test_client_that_leaves_over_an_unknown_command_is_found() -> None:
    story = _unknown()
    story.closed()
    assert judged(unknown_command_ignored, story)[0] == ["connection-closed"]


def test_client_that_leaves_a_broker_too_busy_to_look_up_is_accepted() -> None:
    story = _unknown()
    story.down("LOOKUP_RESPONSE", request_id=77, fields={"error": "ServiceNotReady"})
    story.closed()
    assert judged(unknown_command_ignored, story)[0] == []


def test_connection_that_somebody_else_ends_shows_nothing() -> None:
    story = _unknown()
    story.cut(by=ClosedBy.FAULT)
    assert judged(unknown_command_ignored, story) == ([], 0)
