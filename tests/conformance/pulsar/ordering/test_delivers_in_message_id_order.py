"""The check of `ordering.delivers-in-message-id-order`, both ways, on histories of a few lines."""

from __future__ import annotations

from assay_conformance.checks.base import Check
from assay_conformance.checks.trial import trial
from assay_conformance.history.script import Script, entry_id
from assay_conformance.pulsar.checks.ordering.delivers_in_message_id_order import delivers_in_message_id_order


def _delivered(*entries: int, kind: str = "Exclusive", again: bool = False) -> Check:
    """Entries 0 to 2 are dispatched in order, and delivered in this one; `again`: they are asked for again, and come
    again after the second."""
    story = Script()
    story.consumer(kind=kind)
    for entry in range(3):
        story.message(entry)
    for place, entry in enumerate(entries):
        if again and place == 2:
            story.redeliver_frame()
            for number in range(3):
                story.message(number)
        story.received(entry)
    return trial(delivers_in_message_id_order, story.done())


def test_messages_handed_over_in_id_order_are_accepted() -> None:
    check = _delivered(0, 1, 2)
    assert (check.findings, check.exercised) == ([], 2)


def test_message_handed_over_after_a_later_one_is_found() -> None:
    assert [finding.code for finding in _delivered(0, 2, 1).findings] == ["delivered-out-of-order"]


def test_message_handed_over_twice_is_found() -> None:
    assert [finding.code for finding in _delivered(0, 0).findings] == ["delivered-out-of-order"]


def test_batch_handed_over_backwards_is_found() -> None:
    story = Script()
    story.consumer()
    story.message(0, 1)
    story.received(1, message_id=entry_id(0, 1, 2))
    story.received(0, message_id=entry_id(0, 0, 2))
    check = trial(delivers_in_message_id_order, story.done())
    assert [finding.code for finding in check.findings] == ["delivered-out-of-order"]


def test_redelivery_may_go_back_once() -> None:
    assert _delivered(0, 1, 0, 1, 2, again=True).findings == []


def test_a_return_that_nothing_came_again_for_excuses_no_disorder_later() -> None:
    story = Script()
    story.consumer()
    story.message(0)
    story.received(0)
    story.cut()
    story.connected(1)
    story.subscribed(1)
    for entry in (1, 2):
        story.message(entry, conn=1)
    for entry in (2, 1):
        story.received(entry)
    check = trial(delivers_in_message_id_order, story.done())
    assert [finding.code for finding in check.findings] == ["delivered-out-of-order"]


def test_shared_subscription_promises_no_order() -> None:
    assert _delivered(0, 2, 1, kind="Shared").findings == []
