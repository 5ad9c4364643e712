"""The check of `connection.handshake-first`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar._trials import codes_of

from assay_conformance.checks.trial import trial
from assay_conformance.history.script import Script
from assay_conformance.model.event import Sides
from assay_conformance.pulsar.checks.connection.handshake_first import handshake_first


def test_handshake_before_everything_is_accepted() -> None:
    story = Script()
    story.producer()
    check = trial(handshake_first, story.done())
    assert (check.findings, check.exercised) == ([], 1)


def test_other_first_frame_is_found() -> None:
    story = Script()
    story.opened()
    story.up("PING")
    story.up("CONNECT")
    assert codes_of(trial(handshake_first, story.done())) == ["something-else-first"]


def test_frame_before_connected_is_found() -> None:
    story = Script()
    story.opened()
    story.up("CONNECT")
    story.up("LOOKUP")
    story.down("CONNECTED")
    assert codes_of(trial(handshake_first, story.done())) == ["before-connected"]


def test_connected_that_is_still_held_has_not_reached_the_client() -> None:
    story = Script()
    story.opened()
    story.up("CONNECT")
    story.down("CONNECTED", sides=Sides.SENDER)
    story.up("LOOKUP")
    assert codes_of(trial(handshake_first, story.done())) == ["before-connected"]


def test_frame_after_a_refusal_is_found() -> None:
    story = Script()
    story.opened()
    story.up("CONNECT")
    story.down("ERROR")
    story.up("LOOKUP")
    assert codes_of(trial(handshake_first, story.done())) == ["before-connected"]


def test_authentication_belongs_to_the_handshake() -> None:
    story = Script()
    story.opened()
    story.up("CONNECT")
    story.down("AUTH_CHALLENGE")
    story.up("AUTH_RESPONSE")
    story.down("CONNECTED")
    assert codes_of(trial(handshake_first, story.done())) == []
