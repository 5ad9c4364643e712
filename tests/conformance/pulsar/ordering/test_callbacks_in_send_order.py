"""The check of `ordering.callbacks-in-send-order`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar.ordering._histories import three

from assay_conformance.checks.base import Check
from assay_conformance.checks.trial import trial
from assay_conformance.history.script import Script
from assay_conformance.model.event import ErrorClass
from assay_conformance.model.verdict import Grade
from assay_conformance.pulsar.checks.ordering.callbacks_in_send_order import callbacks_in_send_order


def _callbacks(*numbers: int) -> Check:
    story = Script()
    three(story)
    for number in numbers:
        story.receipt(number)
    for number in numbers:
        story.ok(number)
    return trial(callbacks_in_send_order, story.done())


def test_callbacks_in_send_order_are_accepted() -> None:
    check = _callbacks(0, 1, 2)
    assert (check.findings, check.exercised) == ([], 2)


def test_callback_out_of_order_is_found() -> None:
    (finding,) = _callbacks(0, 2, 1).findings
    assert (finding.code, finding.grade) == ("callback-out-of-order", Grade.A)


def test_send_refused_on_the_spot_may_overtake() -> None:
    story = Script()
    three(story)
    story.fail(2, ErrorClass.QUEUE_FULL)
    story.ok(0)
    story.ok(1)
    assert trial(callbacks_in_send_order, story.done()).findings == []


def test_time_out_of_an_older_send_after_a_younger_success_is_found() -> None:
    story = Script()
    three(story)
    story.ok(1)
    story.unknown(0)
    assert [f.code for f in trial(callbacks_in_send_order, story.done()).findings] == ["callback-out-of-order"]


def test_sends_one_after_the_other_do_not_exercise_callback_order() -> None:
    story = Script()
    story.producer()
    for number in range(3):
        story.send(number)
        story.ok(number)
    assert trial(callbacks_in_send_order, story.done()).exercised == 0
