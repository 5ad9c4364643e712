"""The check of `flow.zero-queue-permit-per-receive`, both ways, on histories of a few lines."""

from __future__ import annotations

import pytest
from tests.conformance.pulsar._consuming import Consuming
from tests.conformance.pulsar.flow._returned_permits import Asking, takes_one

from assay_conformance.checks.trial import trial
from assay_conformance.history.script import CONSUMER, Script
from assay_conformance.pulsar.checks.flow.zero_queue_permit_per_receive import zero_queue_permit_per_receive


def test_permit_for_each_receive() -> None:
    story = takes_one()
    story.receive(1)
    story.flow(1)
    assert story.judged(zero_queue_permit_per_receive) == ([], 2)


def test_permit_that_nobody_waits_for_is_found() -> None:
    story = takes_one()
    story.flow(1)
    assert story.judged(zero_queue_permit_per_receive)[0] == ["unasked"]


def test_message_that_came_garbled_is_waited_for_again() -> None:
    story = Asking(queue=0)
    story.receive(1)
    story.flow(1)
    story.message(0, intact=False)
    story.flow(1)
    assert story.judged(zero_queue_permit_per_receive) == ([], 2)


def _throws_one_away(error: str | None) -> Asking:
    """The application waits; what came is acknowledged, and another permit follows."""
    story = Asking(queue=0)
    story.receive(1)
    story.flow(1)
    story.message(0)
    story.ack_frame(0, fields={"validation_error": error} if error else {})
    story.flow(1)
    return story


def test_message_that_is_reported_as_broken_is_waited_for_again() -> None:
    assert _throws_one_away("DecompressionError").judged(zero_queue_permit_per_receive) == ([], 2)


def test_message_that_is_only_acknowledged_is_not_waited_for_again() -> None:
    assert _throws_one_away(None).judged(zero_queue_permit_per_receive)[0] == ["unasked"]


def _comes_again(*, acked: bool) -> Asking:
    """What the application has had, and perhaps acknowledged, comes again, and another permit follows it."""
    story = takes_one()
    if acked:
        story.complete(story.invoke("ack", CONSUMER, args={"consumer": CONSUMER, "messages": [1]}))
    story.receive(1)
    story.flow(1)
    story.message(0)
    story.flow(1)
    return story


def test_message_that_is_acknowledged_and_comes_again_is_dropped_and_another_one_waited_for() -> None:
    assert _comes_again(acked=True).judged(zero_queue_permit_per_receive) == ([], 3)


def test_message_that_a_reader_has_read_is_dropped_and_another_one_waited_for() -> None:
    story = Consuming("Exclusive", queue=0)
    story.as_reader()
    story.invoke("receive", CONSUMER, args={"consumer": CONSUMER, "count": 2})
    for entry in (0, 0):
        story.flow(1)
        story.message(entry)
    story.received(0)
    story.flow(1)
    assert story.judged(zero_queue_permit_per_receive)[0] == []


def test_permit_behind_a_message_that_comes_again_unacknowledged_is_found() -> None:
    assert _comes_again(acked=False).judged(zero_queue_permit_per_receive)[0] == ["unasked"]


def test_message_reported_as_broken_twice_is_waited_for_again_once() -> None:
    story = _throws_one_away("DecompressionError")
    story.ack_frame(0, fields={"validation_error": "DecompressionError"})
    story.message(1)
    story.flow(1)
    assert story.judged(zero_queue_permit_per_receive)[0] == ["unasked"]


def test_two_permits_at_once_are_found() -> None:
    story = Asking(queue=0)
    story.receive(2)
    story.flow(2)
    assert story.judged(zero_queue_permit_per_receive)[0] == ["more-than-one"]


def test_permit_of_a_lost_connection_is_granted_again() -> None:
    story = Asking(queue=0)
    story.receive(1)
    story.flow(1)
    story.again()
    story.flow(1, conn=1)
    assert story.judged(zero_queue_permit_per_receive) == ([], 2)


@pytest.mark.parametrize(("granted", "codes", "exercised"), [(1, [], 1), (2, ["more-than-one"], 1)])
def test_consumer_with_a_handler_asks_by_itself_for_one_message_at_a_time(
    granted: int, codes: list[str], exercised: int
) -> None:
    story = Script()
    args = {"topics": ["t"], "subscription": "s", "listener": True, "config": {"receiver_queue_size": 0}}
    opening = story.invoke("open_consumer", CONSUMER, args=args)
    story.connected(0)
    story.subscribed()
    story.complete(opening)
    for _ in range(granted):
        story.up("FLOW", consumer_id=0, permits=1)
    check = trial(zero_queue_permit_per_receive, story.done())
    assert [finding.code for finding in check.findings] == codes
    assert check.exercised == exercised
