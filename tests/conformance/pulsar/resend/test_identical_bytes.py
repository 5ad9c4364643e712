"""resend.identical-bytes, both ways, on histories of a few lines."""

from __future__ import annotations

from typing import Any

import pytest
from tests.conformance.pulsar._reopened_names import AGAIN, Story, closed_and_opened_again
from tests.conformance.pulsar.resend._reopened_names import NAMINGS, Naming, lost_while_another_opens, made_up
from tests.conformance.pulsar.resend.in_flight import codes_of, cut

from assay_conformance.checks.base import Check
from assay_conformance.checks.tolerance import MS
from assay_conformance.checks.trial import trial
from assay_conformance.history.script import NAME, PRODUCER, Script, unit_of
from assay_conformance.model.event import ErrorClass, Meta, Outcome
from assay_conformance.pulsar.checks.resend.identical_bytes import identical_bytes
from assay_conformance.pulsar.checks.resend.keeps_queue_order import keeps_queue_order
from assay_conformance.pulsar.checks.resend.pending_sends_resent import pending_sends_resent


def test_a_small_message_under_an_id_that_has_its_receipt_is_no_resend() -> None:
    """Another requirement's matter: the numbering begins anew."""
    story = Story()
    story.producer()
    story.sent(0)
    story.kept(0)
    story.send(1, size=10)
    story.send_frame(1, sequence_id=0, **story.small(1))
    story.cut()
    story.producer_again(1)
    story.send_frame(1, conn=1, sequence_id=0, **story.small(1))
    assert story.judged(identical_bytes) == []


def test_other_bytes_under_an_id_without_its_receipt_are_found() -> None:
    story = Story()
    story.producer()
    story.sent(0)
    story.cut()
    story.producer_again(1)
    story.send(1, size=10)
    story.send_frame(1, conn=1, sequence_id=0, **story.small(1))
    assert story.judged(identical_bytes) == ["bytes-changed"]


def test_messages_too_small_to_tell_under_an_id_that_two_had_are_no_resend_of_either() -> None:
    story = Story()
    story.producer()
    story.send(0, size=10)
    story.send(1, size=10)
    story.send_frame(0, sequence_id=0, **story.small(0))
    story.receipt(0)
    story.send_frame(1, sequence_id=0, **story.small(1))
    story.cut()
    story.producer_again(1)
    story.send_frame(0, conn=1, sequence_id=0, **story.small(0))
    assert story.judged(identical_bytes) == []


def test_other_bytes_under_an_id_whose_message_failed_are_another_message() -> None:
    story = Story()
    story.producer()
    story.sent(0)
    story.unknown(0)
    story.cut()
    story.producer_again(1)
    story.send(1, size=10)
    story.send_frame(1, conn=1, sequence_id=0, **story.small(1))
    assert story.judged(identical_bytes) == []


def _told_late(done_ms: int) -> Story:
    """Message 0 fails at `done_ms` by its agent's word, which comes after the SEND at 60 ms of another under its id,
    and that after the one of message 2."""
    story = Story()
    story.producer()
    story.sent(0)
    call = story.send(2, size=10)
    story.cut()
    story.producer_again(1)
    story.send(1, size=10)
    story.at(50)
    story.send_frame(2, conn=1, **story.small(2))
    story.at(60)
    story.send_frame(1, conn=1, sequence_id=0, **story.small(1))
    story.at(70)
    story.complete(story._sends[PRODUCER, 0], Outcome.UNKNOWN, error=ErrorClass.TIMEOUT, done_ns=done_ms * MS)
    story.complete(call)
    return story


def test_other_bytes_under_an_id_whose_message_failed_are_another_message_however_late_that_is_told() -> None:
    for check in (identical_bytes, keeps_queue_order):
        assert _told_late(done_ms=55).judged(check) == []


def test_other_bytes_under_an_id_whose_message_failed_only_later_are_found() -> None:
    assert _told_late(done_ms=65).judged(identical_bytes) == ["bytes-changed"]
    assert _told_late(done_ms=65).judged(keeps_queue_order) == ["out-of-order"]


def _sent_again_and_used_anew(named: Naming, receipted: bool = True, **other: Any) -> Story:
    """A small message is sent again there; the next small one goes by its id, on a connection where a larger one says
    whose all of it is."""
    small = Story().small
    story = lost_while_another_opens(named, **small(0))
    story.send_frame(0, conn=1, **{**small(0), **other})
    if receipted:
        story.stored(0, **small(0))
        story.receipt(0, conn=1)
    story.cut(1)
    story.producer_again(2)
    story.send(1)
    story.send_frame(1, conn=2, sequence_id=0, **small(1))
    story.send(2)
    story.send_frame(2, conn=2, sequence_id=1)
    return story


@pytest.mark.parametrize("named", NAMINGS)
def test_an_id_with_a_receipt_where_another_producer_may_have_been_let_in_is_used_anew(named: Naming) -> None:
    for check in (identical_bytes, keeps_queue_order):
        assert _sent_again_and_used_anew(named).judged(check) == []


@pytest.mark.parametrize("named", NAMINGS)
def test_other_bytes_under_an_id_without_a_receipt_there_are_found(named: Naming) -> None:
    assert _sent_again_and_used_anew(named, receipted=False).judged(identical_bytes) == ["bytes-changed"]


def test_other_bytes_where_another_producer_may_have_been_let_in_are_found_by_a_name_that_a_broker_made_up() -> None:
    (found,) = trial(identical_bytes, _sent_again_and_used_anew(made_up, unit=7).done()).findings
    assert "again on connection 1 " in found.sentence


def test_first_messages_of_the_second_are_no_resend() -> None:
    for check in (identical_bytes, keeps_queue_order, pending_sends_resent):
        story = closed_and_opened_again()
        story.sent(0, 1, handle=AGAIN, producer_id=1)
        story.kept(0, 1, handle=AGAIN, producer_id=1)
        assert story.judged(check) == []


def test_small_message_sent_again_as_other_bytes_is_found() -> None:
    story = closed_and_opened_again()
    story.sent(0, handle=AGAIN, producer_id=1)
    story.cut()
    story.producer_again(1, producer_id=1)
    story.send_frame(0, handle=AGAIN, conn=1, producer_id=1, **{**story.small(0, AGAIN), "unit": 1})
    assert story.judged(identical_bytes) == ["bytes-changed"]


def chunk(number: int, of: int, last_of: int | None = None) -> dict[str, Any]:
    """Chunk `number` of message `of`; only the last says whose message it is."""
    meta = Meta(producer_name=NAME, sequence_id=of, uuid=f"{NAME}-{of}", chunk_id=number, chunks=3)
    fields: dict[str, Any] = {"meta": meta, "unit": unit_of([number, of, last_of or PRODUCER])}
    return fields if last_of is not None and number == 2 else {**fields, "members": ()}


def interrupted_by_a_reopening() -> Story:
    """A chunked message is begun and cut off, its producer closed; the next of that name begins with the same id."""
    story = Story()
    story.producer()
    story.send(0)
    for number in (0, 1):
        story.send_frame(0, **chunk(number, 0))
    story.cut()
    story.close()
    story.reopened(conn=1)
    story.send(0, AGAIN)
    return story


def test_chunks_of_the_second_are_no_resend_of_the_first() -> None:
    for check in (identical_bytes, keeps_queue_order):
        story = interrupted_by_a_reopening()
        for number in range(3):
            story.send_frame(0, handle=AGAIN, conn=1, producer_id=1, **chunk(number, 0, AGAIN))
        assert story.judged(check) == []


def test_chunks_of_the_second_interrupted_before_its_last_are_no_resend_either() -> None:
    story = interrupted_by_a_reopening()
    story.send_frame(0, handle=AGAIN, conn=1, producer_id=1, **chunk(0, 0, AGAIN))
    assert story.judged(identical_bytes) == []


@pytest.mark.parametrize(("message", "codes"), [(1, []), (0, ["bytes-changed", "bytes-changed"])])
def test_chunks_of_another_message_under_the_id_of_one_are_no_resend(message: int, codes: list[str]) -> None:
    """Its last chunk says whose a message is, and for those in front of it, too."""
    story = Story()
    story.producer()
    story.send(0)
    story.send(1)
    for number in range(3):
        story.send_frame(0, **chunk(number, 0, PRODUCER))
    story.cut()
    story.producer_again(1)
    for number in range(3):
        again = {**chunk(number, 0, PRODUCER), "unit": 7 + number}
        story.send_frame(message, conn=1, sequence_id=0, **again)
    assert story.judged(identical_bytes)[:2] == codes


def test_chunk_sent_again_as_other_bytes_is_found() -> None:
    story = Story()
    story.producer()
    story.send(0)
    story.send_frame(0, **chunk(0, 0))
    story.cut()
    story.producer_again(1)
    story.send_frame(0, conn=1, **{**chunk(0, 0), "unit": 1})
    assert story.judged(identical_bytes) == ["bytes-changed"]


def test_copy_that_a_consumer_posts_elsewhere_is_not_its_producers() -> None:
    story = Script({"t": "persistent://public/default/t", "d": "persistent://public/default/d"})
    story.producer()
    story.send(0)
    story.send_frame(0)
    story.receipt(0)
    story.producer_ready(producer_id=1, topic="d", name="made-up")
    story.send_frame(0, producer_id=1, name="made-up", unit=99)
    assert [finding.code for finding in trial(identical_bytes, story.done()).findings] == []


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
