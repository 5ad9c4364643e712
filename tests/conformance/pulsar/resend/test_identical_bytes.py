"""resend.identical-bytes, both ways, on histories of a few lines."""

from typing import Any

from tests.conformance.pulsar.resend.in_flight import codes_of, cut

from assay_conformance.checks.base import Check
from assay_conformance.checks.trial import trial
from assay_conformance.history.script import Script
from assay_conformance.pulsar.checks.resend.identical_bytes import identical_bytes


def _again(*numbers: int, **fields: Any) -> Check:
    story = Script()
    story.producer()
    for number in range(3):
        story.send(number)
    story.send_frame(0, 1, 2)
    cut(story).send_frame(*numbers, conn=1, **fields)
    return trial(identical_bytes, story.done())


def test_same_bytes_again_are_accepted() -> None:
    check = _again(0, 1, 2)
    assert (check.findings, check.exercised) == ([], 1)


def test_other_bytes_are_found() -> None:
    assert codes_of(_again(0, 1, 2, unit=7)) == ["bytes-changed"]


def test_other_sequence_id_is_found() -> None:
    assert codes_of(_again(0, 1, 2, sequence_id=3)) == ["id-changed"]


def test_other_highest_sequence_id_is_found() -> None:
    assert codes_of(_again(0, 1, 2, highest_sequence_id=9)) == ["id-changed"]


def test_batch_cut_again_is_found() -> None:
    assert codes_of(_again(0, 1)) == ["cut-again"]
