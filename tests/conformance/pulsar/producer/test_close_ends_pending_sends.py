"""The check of `producer.close-ends-pending-sends`, both ways, on histories of a few lines."""

from __future__ import annotations

import msgspec
import pytest
from tests.conformance.pulsar._trials import codes_of

from assay_conformance.checks.base import Check
from assay_conformance.checks.trial import ANY_CASE, ANY_CLIENT, trial
from assay_conformance.history.script import PRODUCER, Script
from assay_conformance.model.case import ClientConfig
from assay_conformance.model.event import ErrorClass, Fate, Fired, Invoke, Outcome, Sides
from assay_conformance.model.fault import Direction, Fault, Inject, OnFrame
from assay_conformance.pulsar.cases.robustness.malformed import NO_COMMAND
from assay_conformance.pulsar.checks.producer.close_ends_pending_sends import close_ends_pending_sends


class _Closing(Script):
    """Message 0 is under way when the producer is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.producer()
        self.send(0)
        self.send_frame(0)
        self.close = self.invoke("close", PRODUCER)
        self.up("CLOSE_PRODUCER", producer_id=0, request_id=77)

    def answer(self) -> None:
        self.down("SUCCESS", request_id=77)
        self.complete(self.close)

    def judged(self) -> Check:
        return trial(close_ends_pending_sends, self.at(5_000).done())


def test_send_receipted_before_the_close_is_answered_succeeds() -> None:
    story = _Closing()
    story.receipt(0)
    story.ok(0)
    story.answer()
    check = story.judged()
    assert (check.findings, check.exercised) == ([], 1)


def test_receipt_written_just_before_its_connection_is_cut_may_not_have_been_read() -> None:
    story = _Closing()
    story.receipt(0)
    story.answer()
    story.cut()
    story.unknown(0, ErrorClass.CLOSED)
    assert codes_of(story.judged()) == []


def test_send_failed_by_a_close_although_its_receipt_comes_is_found() -> None:
    story = _Closing()
    story.unknown(0, ErrorClass.CLOSED)
    story.receipt(0)
    story.answer()
    assert codes_of(story.judged()) == ["failed-though-stored"]


def test_receipt_behind_bytes_that_are_no_frame_may_not_have_been_read() -> None:
    story = _Closing()
    story.add(Fired, fault=0, action="inject", frames=(1,), conn=0)
    story.unknown(0, ErrorClass.CLOSED)
    story.receipt(0)
    story.answer()
    fault = Fault(trigger=OnFrame(command="SEND_RECEIPT", direction=Direction.TO_CLIENT), action=Inject(raw=NO_COMMAND))
    case = msgspec.structs.replace(ANY_CASE, faults=(fault,))
    assert codes_of(trial(close_ends_pending_sends, story.at(5_000).done(), case)) == []


def test_close_that_took_as_long_as_an_operation_may_waits_for_no_receipt() -> None:
    story = _Closing()
    story.after(31_000)
    story.unknown(0, ErrorClass.CLOSED)
    story.receipt(0)
    story.answer()
    case = msgspec.structs.replace(ANY_CASE, config=ClientConfig(client={"operation_timeout_ms": 30_000}))
    facts = msgspec.structs.replace(ANY_CLIENT, settable=frozenset({"operation_timeout_ms"}))
    assert codes_of(trial(close_ends_pending_sends, story.done(), case, facts)) == []


def test_client_that_is_closed_behind_its_producer_waits_for_no_receipt() -> None:
    story = _Closing()
    place, opening = next((n, event) for n, event in enumerate(story.events) if isinstance(event, Invoke))
    story.events[place] = msgspec.structs.replace(opening, args={**opening.args, "client": 9})
    story.invoke("close", 9)
    story.unknown(0, ErrorClass.CLOSED)
    story.receipt(0)
    story.answer()
    assert codes_of(story.judged()) == []


def test_close_that_fails_what_has_its_receipt_is_found_whatever_it_calls_it() -> None:
    story = _Closing()
    story.receipt(0)
    story.unknown(0, ErrorClass.TRANSPORT)
    story.answer()
    assert codes_of(story.judged()) == ["failed-though-stored"]


def test_receipt_behind_the_brokers_own_close_is_for_nobody() -> None:
    story = _Closing()
    story.down("CLOSE_PRODUCER", producer_id=0)
    story.receipt(0)
    story.answer()
    story.unknown(0, ErrorClass.CLOSED)
    assert codes_of(story.judged()) == []


def test_receipt_ahead_of_an_older_send_saves_nothing() -> None:
    story = Script()
    story.producer()
    for number in (0, 1):
        story.send(number)
        story.send_frame(number)
    close = story.invoke("close", PRODUCER)
    story.up("CLOSE_PRODUCER", producer_id=0, request_id=77)
    story.receipt(1)
    story.down("SUCCESS", request_id=77)
    for number in (0, 1):
        story.unknown(number, ErrorClass.CLOSED)
    story.complete(close)
    assert codes_of(trial(close_ends_pending_sends, story.done())) == []


def test_receipt_behind_one_over_which_the_client_leaves_saves_nothing() -> None:
    other = PRODUCER + 1
    story = _Closing()
    story.producer(other, producer_id=1, name="other")
    for number in (0, 1):
        story.send(number, handle=other)
        story.send_frame(number, producer_id=1, handle=other, name="other")
    story.receipt(1, producer_id=1)
    story.receipt(0)
    story.answer()
    story.unknown(0, ErrorClass.CLOSED)
    story.closed()
    assert codes_of(story.judged()) == []


@pytest.mark.parametrize(("leaves", "codes"), [(True, []), (False, ["failed-though-stored"])])
def test_receipt_after_a_forged_one_of_another_producer_may_not_be_read(leaves: bool, codes: list[str]) -> None:
    other = PRODUCER + 1
    story = _Closing()
    story.producer(other, producer_id=1, name="other")
    story.send(0, handle=other)
    story.send_frame(0, producer_id=1, handle=other, name="other")
    story.receipt(0, producer_id=1, fate=Fate.ALTERED, sides=Sides.RECEIVER)
    story.receipt(0)
    story.answer()
    if leaves:
        story.closed()
    story.unknown(0, ErrorClass.CLOSED)
    assert codes_of(story.judged()) == codes


def _behind_a_send_error(error: str, *, producer_id: int, leaves: bool) -> list[str]:
    story = _Closing()
    story.down("SEND_ERROR", producer_id=producer_id, sequence_id=0, fields={"error": error})
    story.receipt(0)
    story.answer()
    story.unknown(0, ErrorClass.CLOSED)
    if leaves:
        story.closed()
    return codes_of(story.judged())


def test_receipt_behind_a_send_error_over_which_the_client_leaves_saves_nothing() -> None:
    assert _behind_a_send_error("ChecksumError", producer_id=1, leaves=True) == []


def test_receipt_behind_a_send_error_that_the_client_stays_for_saves_its_send() -> None:
    assert _behind_a_send_error("NotAllowedError", producer_id=1, leaves=False) == ["failed-though-stored"]


def test_receipt_behind_a_send_error_that_ends_its_producer_saves_nothing() -> None:
    assert _behind_a_send_error("TopicTerminatedError", producer_id=0, leaves=False) == []


def test_receipt_behind_the_end_of_another_producer_saves_its_send() -> None:
    assert _behind_a_send_error("TopicTerminatedError", producer_id=1, leaves=False) == ["failed-though-stored"]


def test_send_without_a_receipt_may_fail_with_the_close() -> None:
    story = _Closing()
    story.answer()
    story.unknown(0, ErrorClass.CLOSED)
    check = story.judged()
    assert (check.findings, check.exercised) == ([], 1)


def test_send_that_a_close_leaves_pending_is_found() -> None:
    story = _Closing()
    story.answer()
    assert codes_of(story.judged()) == ["left-pending"]


@pytest.mark.parametrize(("is_closed", "codes"), [(True, ["left-pending"]), (False, [])])
def test_send_that_never_left_ends_with_its_producer(is_closed: bool, codes: list[str]) -> None:
    story = Script()
    story.producer()
    story.send(0)
    if is_closed:
        close = story.invoke("close", PRODUCER)
        story.up("CLOSE_PRODUCER", producer_id=0, request_id=77)
        story.down("SUCCESS", request_id=77)
        story.complete(close)
    assert codes_of(trial(close_ends_pending_sends, story.at(5_000).done())) == codes


def test_send_that_never_left_may_fail_with_its_producer() -> None:
    story = Script()
    story.producer()
    sent = story.send(0)
    close = story.invoke("close", PRODUCER)
    story.up("CLOSE_PRODUCER", producer_id=0, request_id=77)
    story.complete(sent, Outcome.FAIL, error=ErrorClass.CLOSED)
    story.down("SUCCESS", request_id=77)
    story.complete(close)
    check = trial(close_ends_pending_sends, story.at(5_000).done())
    assert (check.findings, check.exercised) == ([], 1)


def test_send_behind_close_producer_is_found() -> None:
    story = _Closing()
    story.send_frame(0)
    story.receipt(0)
    story.ok(0)
    story.answer()
    assert codes_of(story.judged()) == ["sent-after-close"]


def test_send_that_succeeds_on_a_closed_producer_is_found() -> None:
    story = _Closing()
    story.receipt(0)
    story.ok(0)
    story.answer()
    story.send(1)
    story.ok(1)
    assert codes_of(story.judged()) == ["sent-when-closed"]
