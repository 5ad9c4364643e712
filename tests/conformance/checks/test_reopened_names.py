"""Producers that are closed and opened again under their name, and payloads too small to say whose they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from assay_conformance.checks.base import Check
from assay_conformance.checks.dedup import EffectivelyOnce
from assay_conformance.checks.ordering import KeepsSendOrder
from assay_conformance.checks.tolerance import MS
from assay_conformance.checks.trial import ANY_CASE, trial
from assay_conformance.history.script import DUPLICATE, NAME, PRODUCER, Script, digest_of, unit_of
from assay_conformance.model.case import Case, Topic, Topology
from assay_conformance.model.event import AgentEnded, ErrorClass, Member, Meta, Outcome
from assay_conformance.pulsar.checks.resend.identical_bytes import identical_bytes
from assay_conformance.pulsar.checks.resend.keeps_queue_order import keeps_queue_order
from assay_conformance.pulsar.checks.resend.pending_sends_resent import pending_sends_resent

AGAIN = 7
"""The handle of the producer that is opened under the name of the first."""

DEDUPLICATED = Case(
    id="test/case",
    title="A history by hand",
    requirements=(),
    steps=(),
    topology=Topology(topics=(Topic(name="t", deduplication=True),)),
)


class Story(Script):
    """Messages of ten bytes: what crosses and is stored of them has no identity."""

    def small(self, number: int, handle: int = PRODUCER) -> dict[str, Any]:
        member = Member(size=10, digest=digest_of(number, handle), sequence_id=number)
        return {"members": (member,), "unit": unit_of([number], handle)}

    def sent(self, *numbers: int, handle: int = PRODUCER, conn: int = 0, producer_id: int = 0) -> None:
        for number in numbers:
            if (handle, number) not in self._sends:
                self.send(number, handle, size=10)
            self.send_frame(number, handle=handle, conn=conn, producer_id=producer_id, **self.small(number, handle))

    def kept(self, *numbers: int, handle: int = PRODUCER, conn: int = 0, producer_id: int = 0) -> None:
        """Stored, receipted and reported as sent."""
        for number in numbers:
            self.stored(number, handle=handle, **self.small(number, handle))
            self.receipt(number, conn=conn, producer_id=producer_id)
            self.ok(number, handle)

    def close(self, handle: int = PRODUCER) -> None:
        self.complete(self.invoke("close", handle, args={"handle": handle}))

    def unnamed(self) -> None:
        """A broker makes its name up."""
        opening = self.invoke("open_producer", PRODUCER, args={"topic": "t"})
        self.connected()
        asked = self.producer_asks(producer_name="")
        self.down("PRODUCER_SUCCESS", request_id=asked.request_id, fields={"producer_name": NAME})
        self.complete(opening, producer_name=NAME)

    def reopened(self, conn: int = 0, **config: Any) -> None:
        self.producer(AGAIN, conn=conn, producer_id=1, **config)

    def judged(self, check: type[Check], case: Case = ANY_CASE) -> list[str]:
        self.read_back()
        return [finding.code for finding in trial(check, self.done(), case).findings]


def closed_and_opened_again() -> Story:
    """Two small messages each, under one name, numbered from 0 both times."""
    story = Story()
    story.producer()
    story.sent(0, 1)
    story.kept(0, 1)
    story.close()
    story.reopened()
    return story


def test_small_messages_of_both_are_held() -> None:
    story = closed_and_opened_again()
    story.sent(0, 1, handle=AGAIN, producer_id=1)
    story.kept(0, 1, handle=AGAIN, producer_id=1)
    assert story.judged(KeepsSendOrder) == []


def test_small_message_that_is_missing_is_found() -> None:
    story = closed_and_opened_again()
    story.sent(0, 1, handle=AGAIN, producer_id=1)
    story.kept(0, handle=AGAIN, producer_id=1)
    story.receipt(1, producer_id=1)
    story.ok(1, AGAIN)
    assert story.judged(KeepsSendOrder) == ["acked-but-missing"]


def test_small_messages_out_of_order_are_found() -> None:
    story = closed_and_opened_again()
    story.sent(0, 1, handle=AGAIN, producer_id=1)
    story.kept(1, 0, handle=AGAIN, producer_id=1)
    assert story.judged(KeepsSendOrder) == ["stored-out-of-order"]


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
    """Message 0 fails at `done_ms` by its agent's word, which comes behind the SEND at 60 ms of another under its id,
    and that behind the one of message 2."""
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


def _made_up(story: Story) -> dict[str, Any]:
    story.unnamed()
    return {}


def _made_up_and_asked_for(story: Story) -> dict[str, Any]:
    """The second asks for the name that the first was given."""
    story.unnamed()
    return {"producer_name": NAME}


def _by_the_case(story: Story) -> dict[str, Any]:
    """One that a step opens without a configuration of its own asks for the name that the Case gives all of them."""
    story.producer()
    return {}


def _by_the_steps(story: Story) -> dict[str, Any]:
    story.producer(producer_name=NAME)
    return {"producer_name": NAME}


Naming = Callable[[Story], dict[str, Any]]
"""Opens the first producer; the configuration that a second one of its name is opened with."""
NAMINGS: tuple[Naming, ...] = (_made_up, _made_up_and_asked_for, _by_the_case, _by_the_steps)


def _lost_while_another_opens(named: Naming, **first: Any) -> Story:
    """The first message has no receipt when its connection ends. The name on the next may be either producer's."""
    story = Story()
    config = named(story)
    story.send(0)
    story.send_frame(0, **first)
    story.cut()
    story.invoke("open_producer", AGAIN, args={"topic": "t", "config": config})
    story.producer_again(1)
    return story


def _sent_again_and_used_anew(named: Naming, receipted: bool = True, **other: Any) -> Story:
    """A small message is sent again there; the next small one goes by its id, on a connection where a larger one says
    whose all of it is."""
    small = Story().small
    story = _lost_while_another_opens(named, **small(0))
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
    (found,) = trial(identical_bytes, _sent_again_and_used_anew(_made_up, unit=7).done()).findings
    assert "again on connection 1 " in found.sentence


def _overtaken(named: Naming) -> Story:
    story = _lost_while_another_opens(named)
    story.send(1, size=10)
    story.send_frame(1, conn=1, **story.small(1))
    story.after(500)
    return story


def test_a_name_that_a_broker_made_up_is_one_producers() -> None:
    assert _overtaken(_made_up).judged(pending_sends_resent) == ["not-sent-again"]


@pytest.mark.parametrize("named", NAMINGS[1:])
def test_a_name_that_was_asked_for_may_be_eithers(named: Naming) -> None:
    assert _overtaken(named).judged(pending_sends_resent) == []


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


def test_chunk_sent_again_as_other_bytes_is_found() -> None:
    story = Story()
    story.producer()
    story.send(0)
    story.send_frame(0, **chunk(0, 0))
    story.cut()
    story.producer_again(1)
    story.send_frame(0, conn=1, **{**chunk(0, 0), "unit": 1})
    assert story.judged(identical_bytes) == ["bytes-changed"]


def test_session_that_two_producers_may_have_written_is_nobodys() -> None:
    story = Story()
    story.producer()
    story.sent(0)
    story.invoke("close", PRODUCER, args={"handle": PRODUCER})  # not known to have ended
    story.cut()
    story.invoke("open_producer", AGAIN, args={"topic": "t", "config": {"producer_name": NAME}})
    story.producer_again(1)
    story.send(0, AGAIN, size=10)
    story.send_frame(0, handle=AGAIN, conn=1, **story.small(0, AGAIN))
    story.stored(0, handle=AGAIN, **story.small(0, AGAIN))
    story.ok(0, AGAIN)
    assert story.judged(KeepsSendOrder) == []


def test_two_producers_of_one_name_at_a_time_are_not_effectively_once() -> None:
    story = Story()
    story.producer(producer_name=NAME)
    story.cut()
    story.producer(AGAIN, conn=1, producer_id=1, producer_name=NAME)
    story.send(0, AGAIN)
    story.send_frame(0, handle=AGAIN, conn=1, producer_id=1)
    story.receipt(0, conn=1, producer_id=1, id=DUPLICATE)
    story.ok(0, AGAIN)
    assert story.judged(EffectivelyOnce, DEDUPLICATED) == []


def test_message_lost_by_the_second_producer_of_a_name_is_found() -> None:
    story = Story()
    story.producer(producer_name=NAME)
    story.close()
    story.reopened(producer_name=NAME)
    story.send(0, AGAIN)
    story.send_frame(0, handle=AGAIN, producer_id=1)
    story.receipt(0, producer_id=1, id=DUPLICATE)
    story.ok(0, AGAIN)
    assert story.judged(EffectivelyOnce, DEDUPLICATED) == ["lost"]


def test_copy_that_a_consumer_posts_elsewhere_is_not_its_producers() -> None:
    story = Script({"t": "persistent://public/default/t", "d": "persistent://public/default/d"})
    story.producer()
    story.send(0)
    story.send_frame(0)
    story.receipt(0)
    story.producer_ready(producer_id=1, topic="d", name="made-up")
    story.send_frame(0, producer_id=1, name="made-up", unit=99)
    assert [finding.code for finding in trial(identical_bytes, story.done()).findings] == []


# --- killed, not closed ---


def killed_and_opened_again(*resent: int) -> Story:
    """One small message is receipted and two are pending when the process dies; its heir under that name numbers on."""
    story = Story()
    story.producer()
    story.sent(0, 1, 2)
    story.kept(0)
    for number in (1, 2):
        story.unknown(number)
    story.cut()
    story.add(AgentEnded, reason="killed, as the Case wants", exit_status=-9, killed=True)
    story.reopened(conn=1, producer_name=NAME)
    story.sent(*resent, conn=1, producer_id=1)
    return story


def test_nobody_sends_again_what_a_killed_process_left() -> None:
    assert killed_and_opened_again().judged(pending_sends_resent) == []


def test_the_heir_of_a_killed_producer_is_not_held_to_its_queue() -> None:
    story = killed_and_opened_again()
    story.sent(0, handle=AGAIN, conn=1, producer_id=1)
    assert story.judged(keeps_queue_order) == []
