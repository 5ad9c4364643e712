"""The check of `delivery.payload-unchanged`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar.delivery._histories import judged, two_messages

from assay_conformance.checks.trial import trial
from assay_conformance.history.script import Script
from assay_conformance.pulsar.checks.delivery.payload_unchanged import payload_unchanged


def one_is_changed(s: Script) -> None:
    s.send(0)
    s.stored(0)
    s.ok(0)
    s.received(0, digest=5)


def test_messages_that_arrive_unchanged_are_accepted() -> None:
    assert judged(payload_unchanged, two_messages) == ([], 2)


def test_message_that_arrives_changed_is_found() -> None:
    assert judged(payload_unchanged, one_is_changed)[0] == ["changed"]


def test_a_finding_names_what_was_asked_for_told_stored_and_delivered() -> None:
    script = Script()
    script.consumer(initial_position="earliest")
    script.producer()
    one_is_changed(script)
    script.read_back()
    found = trial(payload_unchanged, script.done()).findings[0]
    kinds = [type(script.events[seq]).__name__ for seq in found.events]
    assert kinds == ["Invoke", "Stored", "Completion", "Received"]
