"""Permits of what no application sees, and of consumers without a queue, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.checks.consuming import Consuming

from assay_conformance.checks.base import Check
from assay_conformance.checks.flow.permits import WithinQueue
from assay_conformance.checks.flow.returned_permits import DroppedReturnPermits, FilteredEarnNothing
from assay_conformance.checks.flow.zero_queue import PermitForReceive, WaitingAsksAgain
from assay_conformance.checks.trial import trial
from assay_conformance.history.script import CONSUMER, Script
from assay_conformance.model.event import Completion, Fate, Invoke


class Asking(Script):
    """A consumer with that queue; what is asked for without a queue is granted by the lines of the test."""

    def __init__(self, queue: int) -> None:
        super().__init__()
        self.consumer(receiver_queue_size=queue)
        if queue:
            self.flow(queue)

    def receive(self, count: int) -> Invoke:
        return self.invoke("receive", CONSUMER, args={"consumer": CONSUMER, "count": count})

    def starves(self) -> Completion:
        receive = self.receive(1)
        self.after(1_000)
        return self.complete(receive, count=0)

    def again(self) -> None:
        self.cut()
        self.connected(1)
        self.subscribed(1)

    def judged(self, check: type[Check]) -> tuple[list[str], int]:
        said = trial(check, self.done())
        return [finding.code for finding in said.findings], said.exercised


def _partly_acked(permits: int) -> Asking:
    """Of a batch of four one message is left; then so many permits follow."""
    story = Asking(queue=4)
    story.message(0, 1, 2, 3, ack_sets=((0b1000,),))
    story.flow(permits)
    return story


# --- flow.no-permit-for-ack-set-filtered ---


def test_permit_of_the_message_that_is_left() -> None:
    assert _partly_acked(1).judged(FilteredEarnNothing) == ([], 1)


def test_permits_for_filtered_messages_are_found() -> None:
    assert _partly_acked(4).judged(FilteredEarnNothing)[0] == ["permits-for-filtered"]


def test_permits_for_filtered_messages_are_found_once() -> None:
    assert _partly_acked(4).judged(WithinQueue)[0] == []


def test_more_permits_than_filtered_messages_explain_are_found() -> None:
    assert _partly_acked(5).judged(WithinQueue)[0] == ["more-than-the-queue"]


# --- flow.dropped-message-returns-permit ---


def _three_of_four_dropped(permits: int) -> Asking:
    story = Asking(queue=4)
    story.message(0, 1, 2, 3)
    story.received(0)
    if permits:
        story.flow(permits)
    story.starves()
    return story


def test_dropped_messages_return_their_permits() -> None:
    assert _three_of_four_dropped(4).judged(DroppedReturnPermits) == ([], 1)


def test_lost_permits_of_dropped_messages_are_found() -> None:
    assert _three_of_four_dropped(0).judged(DroppedReturnPermits)[0] == ["permits-lost"]


def test_less_than_half_a_queue_may_wait() -> None:
    assert _three_of_four_dropped(3).judged(DroppedReturnPermits) == ([], 1)


def test_a_garbled_batch_does_not_say_how_many_permits_it_cost() -> None:
    story = Asking(queue=1)
    story.message(0, 1, fate=Fate.ALTERED, intact=False)
    story.flow(1)
    story.starves()
    assert story.judged(DroppedReturnPermits) == ([], 0)


def test_nothing_dropped_is_nothing_judged() -> None:
    story = Asking(queue=4)
    story.message(0)
    story.received(0)
    story.starves()
    assert story.judged(DroppedReturnPermits) == ([], 0)


# --- flow.zero-queue-permit-per-receive ---


def _takes_one() -> Asking:
    story = Asking(queue=0)
    receive = story.receive(1)
    story.flow(1)
    story.message(0)
    story.received(0)
    story.complete(receive, count=1)
    return story


def test_permit_for_each_receive() -> None:
    story = _takes_one()
    story.receive(1)
    story.flow(1)
    assert story.judged(PermitForReceive) == ([], 2)


def test_permit_that_nobody_waits_for_is_found() -> None:
    story = _takes_one()
    story.flow(1)
    assert story.judged(PermitForReceive)[0] == ["unasked"]


def test_message_that_came_garbled_is_waited_for_again() -> None:
    story = Asking(queue=0)
    story.receive(1)
    story.flow(1)
    story.message(0, intact=False)
    story.flow(1)
    assert story.judged(PermitForReceive) == ([], 2)


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
    assert _throws_one_away("DecompressionError").judged(PermitForReceive) == ([], 2)


def test_message_that_is_only_acknowledged_is_not_waited_for_again() -> None:
    assert _throws_one_away(None).judged(PermitForReceive)[0] == ["unasked"]


def _comes_again(*, acked: bool) -> Asking:
    """What the application has had, and perhaps acknowledged, comes again, and another permit follows it."""
    story = _takes_one()
    if acked:
        story.complete(story.invoke("ack", CONSUMER, args={"consumer": CONSUMER, "messages": [1]}))
    story.receive(1)
    story.flow(1)
    story.message(0)
    story.flow(1)
    return story


def test_message_that_is_acknowledged_and_comes_again_is_dropped_and_another_one_waited_for() -> None:
    assert _comes_again(acked=True).judged(PermitForReceive) == ([], 3)


def test_message_that_a_reader_has_read_is_dropped_and_another_one_waited_for() -> None:
    story = Consuming("Exclusive", queue=0)
    story.as_reader()
    story.invoke("receive", CONSUMER, args={"consumer": CONSUMER, "count": 2})
    for entry in (0, 0):
        story.flow(1)
        story.message(entry)
    story.received(0)
    story.flow(1)
    assert story.judged(PermitForReceive)[0] == []


def test_permit_behind_a_message_that_comes_again_unacknowledged_is_found() -> None:
    assert _comes_again(acked=False).judged(PermitForReceive)[0] == ["unasked"]


def test_message_reported_as_broken_twice_is_waited_for_again_once() -> None:
    story = _throws_one_away("DecompressionError")
    story.ack_frame(0, fields={"validation_error": "DecompressionError"})
    story.message(1)
    story.flow(1)
    assert story.judged(PermitForReceive)[0] == ["unasked"]


def test_two_permits_at_once_are_found() -> None:
    story = Asking(queue=0)
    story.receive(2)
    story.flow(2)
    assert story.judged(PermitForReceive)[0] == ["more-than-one"]


def test_permit_of_a_lost_connection_is_granted_again() -> None:
    story = Asking(queue=0)
    story.receive(1)
    story.flow(1)
    story.again()
    story.flow(1, conn=1)
    assert story.judged(PermitForReceive) == ([], 2)


# --- flow.zero-queue-renews-after-reconnect ---


def test_waiting_receive_asks_again() -> None:
    story = Asking(queue=0)
    story.receive(1)
    story.flow(1)
    story.again()
    story.flow(1, conn=1)
    assert story.judged(WaitingAsksAgain) == ([], 1)


def test_waiting_receive_without_a_permit_is_found() -> None:
    story = Asking(queue=0)
    receive = story.receive(1)
    story.flow(1)
    story.again()
    story.after(1_000)
    story.complete(receive, count=0)
    assert story.judged(WaitingAsksAgain)[0] == ["waits-without-permit"]


def _asks_late(ahead_ms: int) -> Asking:
    """Back for a second, and asked for a message so long before the connection is lost again."""
    story = _takes_one()
    story.again()
    story.after(1_000)
    story.receive(1)
    story.after(ahead_ms)
    story.cut(1)
    return story


def test_receive_that_is_asked_for_as_the_session_ends_needs_no_permit() -> None:
    assert _asks_late(1).judged(WaitingAsksAgain) == ([], 0)


def test_receive_that_is_asked_for_long_before_the_session_ends_needs_one() -> None:
    assert _asks_late(1_000).judged(WaitingAsksAgain)[0] == ["waits-without-permit"]


def test_nobody_waits_and_nothing_is_asked() -> None:
    story = _takes_one()
    story.again()
    story.after(1_000)
    assert story.judged(WaitingAsksAgain) == ([], 0)
