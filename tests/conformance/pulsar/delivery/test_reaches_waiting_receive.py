"""Whether what has arrived reaches a receive that waits."""

from __future__ import annotations

import pytest

from assay_conformance.checks.trial import trial
from assay_conformance.history.script import CONSUMER, Script
from assay_conformance.model.event import Invoke
from assay_conformance.pulsar.checks.delivery.reaches_waiting_receive import reaches_waiting_receive


class _Waiting(Script):
    """The application waits for a message of its consumer."""

    def __init__(self) -> None:
        super().__init__()
        self.consumer()
        self.call: Invoke = self.invoke("receive", CONSUMER, args={"count": 1})

    def judged(self, count: int) -> tuple[list[str], int]:
        self.complete(self.call, count=count)
        check = trial(reaches_waiting_receive, self.done())
        return [finding.code for finding in check.findings], check.exercised


def test_message_that_is_handed_over_is_accepted() -> None:
    story = _Waiting()
    story.message(0)
    story.received(0)
    assert story.judged(1) == ([], 1)


def test_message_that_is_kept_back_is_found() -> None:
    story = _Waiting()
    story.message(0)
    story.after(2_000)
    assert story.judged(0)[0] == ["kept-back"]


def test_message_that_came_when_the_receive_was_about_to_end_may_come_late() -> None:
    story = _Waiting()
    story.after(2_000)
    story.message(0)
    story.after(10)
    assert story.judged(0) == ([], 0)


def test_damaged_message_may_be_kept_back() -> None:
    story = _Waiting()
    story.message(0, intact=False)
    story.after(2_000)
    assert story.judged(0) == ([], 0)


def test_message_that_came_to_a_paused_consumer_may_be_kept_back() -> None:
    story = _Waiting()
    story.complete(story.invoke("pause", CONSUMER))
    story.message(0)
    story.after(2_000)
    assert story.judged(0) == ([], 0)


def test_message_that_is_kept_back_behind_a_resume_is_found() -> None:
    story = _Waiting()
    story.complete(story.invoke("pause", CONSUMER))
    story.message(0)
    story.complete(story.invoke("resume", CONSUMER))
    story.after(2_000)
    assert story.judged(0)[0] == ["kept-back"]


def test_message_of_a_session_that_is_over_may_be_dropped() -> None:
    story = _Waiting()
    story.message(0)
    story.cut()
    story.after(2_000)
    assert story.judged(0) == ([], 0)


def test_message_that_was_dispatched_again_may_be_one_that_was_settled() -> None:
    story = _Waiting()
    story.message(0, redelivery_count=1)
    story.after(2_000)
    assert story.judged(0) == ([], 0)


@pytest.mark.parametrize(("cumulative", "codes"), [(True, []), (False, ["kept-back"])])
def test_message_that_comes_behind_a_cumulative_acknowledgment_of_a_later_one_may_be_dropped(
    cumulative: bool, codes: list[str]
) -> None:
    story = _Waiting()
    story.message(1)
    story.received(1)
    args = {"consumer": CONSUMER, "messages": [1], "cumulative": cumulative}
    story.complete(story.invoke("ack", CONSUMER, args=args))
    story.message(0)
    story.after(2_000)
    assert story.judged(0)[0] == codes


@pytest.mark.parametrize(
    ("start", "codes"),
    [
        ({"ledgerId": 2**63 - 1, "entryId": 2**63 - 1}, ["kept-back"]),
        ({"ledgerId": -1, "entryId": -1}, ["kept-back"]),
        ({"ledgerId": 1, "entryId": 0}, []),
    ],
)
def test_reader_that_begins_at_a_message_may_drop_what_comes_up_to_it_and_others_may_not(
    start: dict[str, int], codes: list[str]
) -> None:
    story = Script()
    opening = story.invoke("open_consumer", CONSUMER, args={"topics": ["t"], "config": {"durable": False}})
    story.connected(0)
    story.subscribed(durable=False, start_message_id=start)
    story.complete(opening)
    call = story.invoke("receive", CONSUMER, args={"count": 1})
    story.message(0)
    story.after(2_000)
    story.complete(call, count=0)
    assert [finding.code for finding in trial(reaches_waiting_receive, story.done()).findings] == codes


def test_reader_may_drop_what_comes_behind_a_later_message() -> None:
    story = Script()
    opening = story.invoke("open_consumer", CONSUMER, args={"topics": ["t"], "config": {"durable": False}})
    story.connected(0)
    story.subscribed(durable=False, initialPosition="Earliest")
    story.complete(opening)
    call = story.invoke("receive", CONSUMER, args={"count": 2})
    story.message(1)
    story.received(1)
    story.message(0)
    story.after(2_000)
    story.complete(call, count=1)
    assert trial(reaches_waiting_receive, story.done()).findings == []


class _Sought(Script):
    """The application seeks, a message comes when that has ended, and a receive waits for it."""

    def judged(self, **place: object) -> tuple[list[str], int]:
        self.consumer()
        self.complete(self.invoke("seek", CONSUMER, args=place))
        self.message(0)
        call = self.invoke("receive", CONSUMER, args={"count": 1})
        self.after(2_000)
        self.complete(call, count=0)
        check = trial(reaches_waiting_receive, self.done())
        return [finding.code for finding in check.findings], check.exercised


def test_message_that_is_kept_back_behind_a_seek_by_time_is_found() -> None:
    assert _Sought().judged(publish_time_ms=0) == (["kept-back"], 0)


def test_message_that_comes_behind_a_seek_by_id_may_be_passed_over() -> None:
    assert _Sought().judged(message_id=[1, 0, -1, -1, 0]) == ([], 0)


def test_message_that_came_before_a_seek_by_time_had_ended_may_be_dropped() -> None:
    story = _Waiting()
    seek = story.invoke("seek", CONSUMER, args={"publish_time_ms": 0})
    story.message(0)
    story.complete(seek)
    story.after(2_000)
    assert story.judged(0) == ([], 0)
