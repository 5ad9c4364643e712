"""Code of the application inside the client, both ways, on histories of a few lines."""

from __future__ import annotations

import pytest
from tests.conformance.checks.test_routing_checks import Story

from assay_conformance.checks.hooks import AsksRouterOnce, BadAnswerFailsOne, InterceptsFirst
from assay_conformance.checks.routing import RoundRobinTurns
from assay_conformance.checks.steering import SteersAroundFull
from assay_conformance.history.script import PRODUCER
from assay_conformance.model.event import ErrorClass, Note


class Hooked(Story):
    def routes(self, number: int, answer: int, partitions: int = 5) -> None:
        values = {"number": number, "partitions": partitions, "answer": answer}
        self.add(Note, text="router", handle=PRODUCER, values=values)

    def tells(self, number: int, *texts: str) -> None:
        for text in texts:
            self.add(Note, text=text, handle=PRODUCER, values={"number": number})


def _routed(*answers: int, partitions: int = 5, went: int = 3) -> Hooked:
    story = Hooked(router="by_number")
    for answer in answers:
        story.routes(0, answer, partitions)
    story.goes(0, went)
    return story


def test_router_that_is_asked_once_and_heard() -> None:
    assert _routed(3).judged(AsksRouterOnce) == ([], 1)


@pytest.mark.parametrize(
    ("story", "code"),
    [
        (_routed(), "not-asked"),
        (_routed(3, 3), "asked-again"),
        (_routed(3, partitions=4), "wrong-count"),
        (_routed(2), "not-heard"),
    ],
    ids=["never", "twice", "of-four", "elsewhere"],
)
def test_router_that_is_asked_otherwise_is_found(story: Hooked, code: str) -> None:
    assert story.judged(AsksRouterOnce)[0] == [code]


def test_producer_with_a_router_takes_no_turns() -> None:
    story = Hooked(router="by_number", routing="round_robin", batching=False)
    story.goes(0, 0)
    story.goes(1, 3)
    assert story.judged(RoundRobinTurns) == ([], 0)


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
    assert story.judged(BadAnswerFailsOne) == ([], 1)


def test_message_sent_in_spite_of_a_bad_answer_is_found() -> None:
    story = _bad_answer()
    story.goes(0, 0)
    story.ok(0)
    assert story.judged(BadAnswerFailsOne)[0] == ["sent-anyway"]


def test_send_that_fails_with_anothers_bad_answer_is_found() -> None:
    story = _bad_answer()
    story.send(0)
    story.fail(0)
    story.routes(1, 1)
    story.send(1)
    story.fail(1, ErrorClass.INVALID_CONFIG)
    assert story.judged(BadAnswerFailsOne)[0] == ["others-fail"]


def test_send_that_fails_by_its_size_has_nothing_to_do_with_anothers_bad_answer() -> None:
    story = _bad_answer()
    story.send(0)
    story.fail(0)
    story.routes(1, 1)
    story.send(1)
    story.fail(1, ErrorClass.TOO_LARGE)
    assert story.judged(BadAnswerFailsOne)[0] == []


# --- interceptors ---


def _intercepted(*ahead: str, behind: tuple[str, ...] = ()) -> Hooked:
    story = Hooked(interceptor="notes")
    story.send(0)
    story.tells(0, *ahead)
    story.ok(0)
    story.tells(0, *behind)
    return story


def test_interceptor_is_called_first_and_told_first() -> None:
    assert _intercepted("before-send", "router", "acknowledged").judged(InterceptsFirst) == ([], 1)


@pytest.mark.parametrize(
    ("story", "code"),
    [
        (_intercepted("router", "before-send", "acknowledged"), "behind-router"),
        (_intercepted("before-send", "router", behind=("acknowledged",)), "told-late"),
        (_intercepted("before-send", "before-send", "acknowledged"), "not-once"),
        (_intercepted("before-send"), "not-once"),
    ],
    ids=["behind-the-router", "told-late", "twice", "not-told"],
)
def test_interceptor_that_is_called_otherwise_is_found(story: Hooked, code: str) -> None:
    assert story.judged(InterceptsFirst)[0] == [code]


def test_messages_too_small_to_say_their_number_are_not_judged() -> None:
    story = Hooked(interceptor="notes", router="by_number")
    story.send(0, size=2)
    story.tells(0, "before-send", "before-send", "acknowledged")
    story.ok(0)
    assert story.judged(InterceptsFirst) == ([], 0)


# --- full partitions ---


def _with_one_message_waiting(limit: int = 1) -> Story:
    """Message 0 waits at partition 1, and the next four have their receipts: it is the turn of partition 1."""
    story = Story(routing="round_robin", batching=False, max_pending_messages=limit)
    story.goes(0, 1)
    for number, partition in enumerate((2, 3, 4, 0), 1):
        story.goes(number, partition)
        story.ok(number)
    return story


def test_message_refused_beside_room_is_told() -> None:
    story = _with_one_message_waiting()
    story.send(5)
    story.fail(5)
    assert story.judged(SteersAroundFull) == ([], 1)


def test_message_that_goes_past_a_full_partition_is_told() -> None:
    story = _with_one_message_waiting()
    story.goes(5, 2)
    assert story.judged(SteersAroundFull)[0] == ["steers"]


def test_turn_behind_a_message_with_a_key_is_not_known() -> None:
    story = _with_one_message_waiting()
    story.goes(5, 0, key="a")
    story.ok(5)
    story.goes(6, 2)
    assert story.judged(SteersAroundFull)[0] == []


@pytest.mark.parametrize(("limit", "codes"), [(1, []), (2, ["out-of-turn"])], ids=["full", "with-room"])
def test_turn_of_a_full_partition_alone_may_be_passed_over(limit: int, codes: list[str]) -> None:
    story = _with_one_message_waiting(limit)
    story.goes(5, 2)
    assert story.judged(RoundRobinTurns)[0] == codes
