"""The check of `routing.invalid-partition-fails-one-send`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar._hooks import Hooked

from assay_conformance.model.event import ErrorClass
from assay_conformance.pulsar.checks.routing.invalid_partition_fails_one_send import invalid_partition_fails_one_send


def _bad_answer() -> Hooked:
    story = Hooked(router="out_of_range")
    story.routes(0, 5)
    return story


def test_bad_answer_fails_its_send_alone() -> None:
    story = _bad_answer()
    story.send(0)
    story.fail(0)
    story.routes(1, 1)
    story.goes(1, 1)
    story.ok(1)
    assert story.judged(invalid_partition_fails_one_send) == ([], 1)


def test_message_sent_in_spite_of_a_bad_answer_is_found() -> None:
    story = _bad_answer()
    story.goes(0, 0)
    story.ok(0)
    assert story.judged(invalid_partition_fails_one_send)[0] == ["sent-anyway"]


def test_send_that_fails_with_anothers_bad_answer_is_found() -> None:
    story = _bad_answer()
    story.send(0)
    story.fail(0)
    story.routes(1, 1)
    story.send(1)
    story.fail(1, ErrorClass.INVALID_CONFIG)
    assert story.judged(invalid_partition_fails_one_send)[0] == ["others-fail"]


def test_send_that_fails_by_its_size_has_nothing_to_do_with_anothers_bad_answer() -> None:
    story = _bad_answer()
    story.send(0)
    story.fail(0)
    story.routes(1, 1)
    story.send(1)
    story.fail(1, ErrorClass.TOO_LARGE)
    assert story.judged(invalid_partition_fails_one_send)[0] == []
