"""Acknowledgments that wait for the broker's answer, both ways, on histories of a few lines."""

from __future__ import annotations

from typing import Any

import pytest
from tests.conformance.checks.consuming import Consuming, client

from assay_conformance.checks.ack import (
    NoReceiptFromOldBroker,
    ReceiptEndsCall,
    RefusedReceiptFails,
    TakesWhatIsSettled,
)
from assay_conformance.checks.base import Check
from assay_conformance.checks.trial import trial
from assay_conformance.history.script import CONSUMER, Script
from assay_conformance.model.event import ErrorClass, Frame, Invoke, MessageId, Outcome


class Awaiting(Consuming):
    """A consumer that asks for receipts got message 0; `version` is what the broker speaks."""

    def __init__(self, version: int = 21) -> None:
        self.version = version
        super().__init__(ack_receipt=True)
        self.gets(0)

    def connected(self, conn: int = 0) -> Frame:
        self.opened(conn)
        self.up("CONNECT", conn, fields={"protocol_version": 21})
        return self.down("CONNECTED", conn, fields={"protocol_version": self.version})

    def asks(self) -> Invoke:
        """The application acknowledges its message, and the ACK leaves."""
        invoke = self.invoke("ack", CONSUMER, args={"consumer": CONSUMER, "messages": [1]})
        self.ack_frame(0, request_id=50)
        return invoke

    def answer(self, **fields: Any) -> Frame:
        return self.down("ACK_RESPONSE", consumer_id=0, request_id=50, fields=fields)


# --- ack.call-waits-for-response ---


def test_call_that_ends_with_its_answer() -> None:
    story = Awaiting()
    invoke = story.asks()
    story.answer()
    story.complete(invoke)
    assert story.judged(ReceiptEndsCall) == ([], 1)


def test_call_that_ends_before_its_answer_is_found() -> None:
    story = Awaiting()
    invoke = story.asks()
    story.complete(invoke)
    story.answer()
    assert story.judged(ReceiptEndsCall)[0] == ["ended-without-answer"]


def test_call_may_name_what_came_by_way_of_a_retry_letter_topic() -> None:
    """It was acknowledged there when its letter had its receipt."""
    story = Awaiting()
    story.received(7, topic=f"{story.full('t')}-s-RETRY", message_id=MessageId(9, 0, -1, -1, 0))
    story.complete(story.invoke("ack", CONSUMER, args={"consumer": CONSUMER, "messages": [2]}))
    assert story.judged(ReceiptEndsCall) == ([], 0)


def test_call_that_ends_without_any_ack_is_found() -> None:
    story = Awaiting()
    story.complete(story.invoke("ack", CONSUMER, args={"consumer": CONSUMER, "messages": [1]}))
    assert story.judged(ReceiptEndsCall)[0] == ["ended-without-answer"]


def test_call_that_outlives_its_answer_is_found() -> None:
    story = Awaiting()
    invoke = story.asks()
    story.answer()
    story.after(1_000)
    story.overdue(invoke)
    assert story.judged(ReceiptEndsCall)[0] == ["not-ended"]


def test_call_that_is_given_up_long_behind_its_answer_is_found() -> None:
    story = Awaiting()
    invoke = story.asks()
    story.answer()
    story.after(1_000)
    story.complete(invoke, Outcome.UNKNOWN)
    assert story.judged(ReceiptEndsCall)[0] == ["not-ended"]


def test_call_whose_entry_is_named_again_without_an_answer_may_be_given_up() -> None:
    story = Awaiting()
    invoke = story.asks()
    story.answer()
    story.asks()
    story.after(1_000)
    story.complete(invoke, Outcome.UNKNOWN)
    assert story.judged(ReceiptEndsCall)[0] == []


def test_call_whose_own_answer_is_lost_may_be_given_up_though_a_later_ack_covers_its_entry() -> None:
    story = Awaiting()
    invoke = story.asks()
    story.ack_frame(0, request_id=51)
    story.down("ACK_RESPONSE", consumer_id=0, request_id=51)
    story.after(1_000)
    story.complete(invoke, Outcome.UNKNOWN)
    assert story.judged(ReceiptEndsCall)[0] == []


def test_consumer_that_is_closed_behind_the_deadline_was_late_all_the_same() -> None:
    story = Awaiting()
    invoke = story.asks()
    story.answer()
    story.after(1_000)
    story.overdue(invoke)
    story.close_consumer()
    assert story.judged(ReceiptEndsCall)[0] == ["not-ended"]


def test_answer_that_comes_behind_the_end_of_a_call_was_late() -> None:
    """The bench hears of the end long after the agent did."""
    story = Awaiting()
    invoke = story.asks()
    done_ns = story.after(1_000).now_ns
    story.answer()
    story.after(700)
    story.complete(invoke, Outcome.UNKNOWN, done_ns=done_ns)
    assert story.judged(ReceiptEndsCall)[0] == []


def test_call_that_also_names_what_came_from_an_unknown_place_may_wait_for_that() -> None:
    """Its ACK may be another consumer's, and without an answer."""
    story = Awaiting()
    invoke = story.invoke("ack", CONSUMER, args={"consumer": CONSUMER, "messages": [1, 2]})
    story.ack_frame(0, request_id=50)
    story.answer()
    story.after(1_000)
    story.complete(invoke, Outcome.UNKNOWN)
    assert story.judged(ReceiptEndsCall)[0] == []


def test_old_broker_owes_no_answer() -> None:
    story = Awaiting(version=16)
    story.complete(story.asks())
    assert story.judged(ReceiptEndsCall) == ([], 0)


# --- ack.error-response-is-no-success ---


def test_refused_acknowledgment_that_fails() -> None:
    story = Awaiting()
    invoke = story.asks()
    story.answer(error="MetadataError")
    story.complete(invoke, Outcome.FAIL)
    assert story.judged(RefusedReceiptFails) == ([], 1)


def test_refused_acknowledgment_that_ends_well_is_found() -> None:
    story = Awaiting()
    invoke = story.asks()
    story.answer(error="MetadataError")
    story.complete(invoke)
    assert story.judged(RefusedReceiptFails)[0] == ["refusal-taken-for-success"]


def test_acknowledgment_lost_with_its_connection_that_ends_well_is_found() -> None:
    story = Awaiting()
    invoke = story.asks()
    story.cut()
    story.complete(invoke)
    assert story.judged(RefusedReceiptFails)[0] == ["loss-taken-for-success"]


def test_acknowledgment_that_may_have_been_sent_for_another_consumer_is_nobodys() -> None:
    story = Awaiting()
    invoke = story.asks()
    story.cut()
    story.invoke("open_consumer", CONSUMER + 1, args={"topics": ["t"], "subscription": "s"})
    story.again()
    story.ack_frame(0, conn=1, request_id=51)
    story.complete(invoke)
    assert story.judged(RefusedReceiptFails)[0] == []


def test_acknowledgment_that_is_sent_again_and_answered() -> None:
    story = Awaiting()
    invoke = story.asks()
    story.cut()
    story.again()
    story.ack_frame(0, conn=1, request_id=51)
    story.down("ACK_RESPONSE", 1, consumer_id=0, request_id=51)
    story.complete(invoke)
    assert story.judged(RefusedReceiptFails) == ([], 1)


# --- ack.no-response-from-old-broker ---


def test_call_that_does_not_wait_for_an_old_broker() -> None:
    story = Awaiting(version=16)
    invoke = story.asks()
    story.complete(invoke)
    assert story.judged(NoReceiptFromOldBroker) == ([], 1)


def test_call_that_waits_for_an_old_broker_is_found() -> None:
    story = Awaiting(version=16)
    story.asks()
    story.after(2_000)
    assert story.judged(NoReceiptFromOldBroker)[0] == ["waits-for-nothing"]


def test_call_that_is_refused_does_not_wait_for_an_old_broker() -> None:
    story = Awaiting(version=16)
    invoke = story.asks()
    story.complete(invoke, outcome=Outcome.FAIL, error=ErrorClass.INVALID_CONFIG)
    story.after(2_000)
    assert story.judged(NoReceiptFromOldBroker) == ([], 0)


def test_new_broker_is_waited_for() -> None:
    story = Awaiting()
    story.asks()
    story.after(2_000)
    assert story.judged(NoReceiptFromOldBroker) == ([], 0)


# --- a call over several topics ---


class _OnTwoBrokers(Script):
    """A consumer of two topics got a message of each; the broker of the first one speaks `versions[0]`, and so on."""

    def __init__(self, *versions: int) -> None:
        super().__init__({name: f"persistent://public/default/{name}" for name in ("t", "u")})
        opening = self.invoke("open_consumer", CONSUMER, args={"topics": ["t", "u"], "subscription": "s"})
        for conn, (topic, version) in enumerate(zip("tu", versions, strict=True)):
            self.opened(conn, broker=conn)
            self.up("CONNECT", conn, fields={"protocol_version": 21})
            self.down("CONNECTED", conn, fields={"protocol_version": version})
            self.subscribed(conn, consumer_id=conn, topic=topic)
        self.complete(opening)
        for number, topic in enumerate("tu"):
            self.received(number, topic=self.full(topic))

    def acks_both(self) -> Invoke:
        """Of the two ACKs the first asks for an answer, and gets one."""
        invoke = self.invoke("ack", CONSUMER, args={"consumer": CONSUMER, "messages": [1, 2]})
        self.ack_frame(0, request_id=50)
        self.ack_frame(1, conn=1, consumer_id=1)
        self.down("ACK_RESPONSE", consumer_id=0, request_id=50)
        return invoke

    def judged(self, check: type[Check]) -> list[str]:
        return [finding.code for finding in trial(check, self.done(), facts=client(ack_receipt=True)).findings]


def test_call_over_a_topic_whose_broker_answers_no_ack_ends_without_its_answer() -> None:
    story = _OnTwoBrokers(21, 16)
    story.complete(story.acks_both())
    assert story.judged(ReceiptEndsCall) == []


@pytest.mark.parametrize(("versions", "codes"), [((16, 21), []), ((16, 16), ["waits-for-nothing"])])
def test_call_waits_for_nothing_only_where_no_broker_of_its_topics_answers(
    versions: tuple[int, int], codes: list[str]
) -> None:
    story = _OnTwoBrokers(*versions)
    invoke = story.acks_both()
    story.after(2_000).complete(invoke, Outcome.UNKNOWN, error=ErrorClass.TIMEOUT)
    assert story.judged(NoReceiptFromOldBroker) == codes


# --- ack.repeated-ack-accepted ---


def _acked_twice(*answers: dict[str, Any]) -> Awaiting:
    """The same ACK comes twice, and is answered so."""
    story = Awaiting()
    for _ in answers:
        story.ack_frame(0, request_id=50)
    for fields in answers:
        story.answer(**fields)
    return story


def test_second_ack_of_an_entry_that_is_taken_is_accepted() -> None:
    assert _acked_twice({}, {}).judged(TakesWhatIsSettled) == ([], 1)


def test_second_ack_of_an_entry_that_is_refused_is_found() -> None:
    assert _acked_twice({}, {"error": "MetadataError"}).judged(TakesWhatIsSettled)[0] == ["refused"]


def test_first_ack_that_is_refused_is_not_its_matter() -> None:
    assert _acked_twice({"error": "MetadataError"}, {}).judged(TakesWhatIsSettled) == ([], 1)


def test_ack_of_a_further_entry_may_be_refused() -> None:
    story = _acked_twice({})
    story.ack_frame(0, 1, request_id=50)
    story.answer(error="MetadataError")
    assert story.judged(TakesWhatIsSettled) == ([], 0)
