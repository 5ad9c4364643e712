"""resend.checksum-error-resent, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar.resend.refused import Refused, codes_of

from assay_conformance.checks.trial import trial
from assay_conformance.history.script import Script
from assay_conformance.model.event import ErrorClass, Fate, Sides
from assay_conformance.pulsar.checks.resend.checksum_error_resent import checksum_error_resent


def test_message_spoilt_on_its_way_that_is_sent_again_at_once_is_accepted() -> None:
    story = Refused("ChecksumError")
    story.send_frame(0)
    story.send_frame(1)
    check = story.judged(checksum_error_resent)
    assert (check.findings, check.exercised) == ([], 1)


def test_message_spoilt_on_its_way_that_fails_is_found() -> None:
    story = Refused("ChecksumError")
    story.unknown(0, ErrorClass.CORRUPT)
    assert codes_of(story.judged(checksum_error_resent)) == ["failed"]


def test_message_that_left_corrupt_may_fail() -> None:
    story = Refused("ChecksumError", intact=False)
    story.unknown(0, ErrorClass.CORRUPT)
    assert codes_of(story.judged(checksum_error_resent)) == []


def test_error_that_a_fault_held_back_counts_from_when_it_came() -> None:
    """The client ends its connection soon after it; that the broker had written it before is no other reason to."""
    story = Script()
    story.producer()
    story.send(0)
    story.send_frame(0)
    error = {"error": "ChecksumError"}
    held = story.down("SEND_ERROR", producer_id=0, sequence_id=0, fields=error, sides=Sides.SENDER, fate=Fate.HELD)
    story.after(3_000).down(
        "SEND_ERROR",
        producer_id=0,
        sequence_id=0,
        fields=error,
        sides=Sides.RECEIVER,
        fate=Fate.RELEASED,
        frame=held.frame,
    )
    story.fail(0, ErrorClass.TRANSPORT)
    story.closed()
    assert codes_of(trial(checksum_error_resent, story.at(5_000).done())) == ["failed"]
