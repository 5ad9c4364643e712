"""The check of `dead-letter.original-acked-after-receipt`, both ways, on histories of a few lines."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from tests.conformance.pulsar._letters import DELAY_MS, STORED, Letters, sent_round_again
from tests.conformance.pulsar._trials import codes_of
from tests.conformance.pulsar.dead_letter._letters import refused_once_more_than_it_may_be, refused_twice

from assay_conformance.checks.base import Check
from assay_conformance.checks.trial import ANY_CASE, trial
from assay_conformance.history.script import CONSUMER
from assay_conformance.model.case import Topology
from assay_conformance.model.event import Fate, Meta, Sides
from assay_conformance.pulsar.checks.dead_letter.original_acked_after_receipt import (
    dead_letter_original_acked_after_receipt,
)


def test_original_that_goes_with_its_letters_receipt_is_accepted() -> None:
    story = refused_twice()
    story.posts()
    story.receipt(0, producer_id=5)
    story.acks()
    check = story.judged(dead_letter_original_acked_after_receipt)
    assert (check.findings, check.exercised) == ([], 1)


def test_letter_that_a_fault_doubled_was_written_once() -> None:
    story = refused_twice()
    story.posts(way={"frame": 90, "sides": Sides.SENDER, "fate": Fate.DUPLICATED})
    for fate in (Fate.PASSED, Fate.DUPLICATED):
        story.posts(way={"frame": 90, "sides": Sides.RECEIVER, "fate": fate})
    story.receipt(0, producer_id=5)
    story.acks()
    assert codes_of(story.judged(dead_letter_original_acked_after_receipt)) == []


def test_message_that_is_refused_once_more_when_its_letter_has_settled_it_may_be_asked_for() -> None:
    story = refused_twice()
    story.posts()
    story.receipt(0, producer_id=5)
    story.acks()
    story.refuse(2)
    story.redeliver_frame(0)
    check = story.judged(dead_letter_original_acked_after_receipt)
    assert (check.findings, check.exercised) == ([], 1)


def test_message_may_be_refused_once_more_while_its_acknowledgment_is_kept_with_others() -> None:
    story = refused_twice()
    story.posts()
    story.receipt(0, producer_id=5)
    story.refuse(2)
    story.acks()
    story.redeliver_frame(0)
    assert codes_of(story.judged(dead_letter_original_acked_after_receipt)) == []


def test_message_may_be_refused_once_more_while_its_letter_is_under_way() -> None:
    story = refused_twice()
    story.posts()
    story.refuse(2)
    story.redeliver_frame(0)
    assert codes_of(story.judged(dead_letter_original_acked_after_receipt)) == []


@pytest.mark.parametrize("receipted_first", [True, False])
def test_message_that_comes_again_is_settled_by_the_letter_it_has(receipted_first: bool) -> None:
    story = refused_twice()
    story.posts()
    if receipted_first:
        story.receipt(0, producer_id=5)
    story.refuse(2)
    story.redeliver_frame(0)
    story.message(0, handle=STORED, redelivery_count=2)
    if not receipted_first:
        story.receipt(0, producer_id=5)
    story.acks()
    assert codes_of(story.judged(dead_letter_original_acked_after_receipt)) == []


@pytest.mark.parametrize(("receipted", "codes"), [(True, []), (False, ["acked-first"])])
def test_letter_for_a_refusal_of_an_earlier_delivery_settles_a_later_one(receipted: bool, codes: list[str]) -> None:
    """Refused twice when it came first, it comes a second time only to become a letter, and a third before that is
    settled."""
    story = Letters()
    story.comes(0)
    story.refuse(1)
    story.refuse(1)
    story.redeliver_frame(0)
    story.message(0, handle=STORED, redelivery_count=1)
    story.opens()
    story.posts()
    if receipted:
        story.receipt(0, producer_id=5)
    story.redeliver_frame(0)
    story.message(0, handle=STORED, redelivery_count=2)
    story.acks()
    assert codes_of(story.judged(dead_letter_original_acked_after_receipt)) == codes


@pytest.mark.parametrize("batched", [False, True], ids=["alone", "in-a-batch"])
@pytest.mark.parametrize(("receipted", "codes"), [(True, []), (False, ["acked-first"])])
def test_message_that_becomes_a_letter_unseen_at_the_maximum_is_settled_by_it(
    receipted: bool, codes: list[str], batched: bool
) -> None:
    story = Letters()
    story.comes(0)
    story.refuse(1)
    story.redeliver_frame(0)
    story.message(0, handle=STORED, redelivery_count=1)
    story.opens()
    story.posts(batched=batched)
    if receipted:
        story.receipt(0, producer_id=5)
    story.acks()
    check = story.judged(dead_letter_original_acked_after_receipt)
    assert codes_of(check) == codes
    assert check.exercised == (1 if receipted else 0)


@pytest.mark.parametrize(("receipted", "codes"), [(True, []), (False, ["acked-first"])])
def test_letter_to_a_topic_that_has_the_former_name_is_one(receipted: bool, codes: list[str]) -> None:
    story = refused_once_more_than_it_may_be()
    story.opens(topic=f"{story.full('t').rpartition('/')[0]}/s-DLQ")
    story.posts()
    if receipted:
        story.receipt(0, producer_id=5)
    story.acks()
    check = story.judged(dead_letter_original_acked_after_receipt)
    assert codes_of(check) == codes
    assert check.exercised == (1 if receipted else 0)


def test_message_whose_letter_has_failed_comes_again_however_often_it_is_refused() -> None:
    story = refused_twice()
    story.posts()
    story.down("SEND_ERROR", producer_id=5, sequence_id=0, fields={"error": "NotAllowedError"})
    story.refuse(2)
    story.redeliver_frame(0)
    assert codes_of(story.judged(dead_letter_original_acked_after_receipt)) == []


def test_original_acknowledged_before_its_letters_receipt_is_found() -> None:
    story = refused_twice()
    story.posts()
    story.acks()
    story.receipt(0, producer_id=5)
    assert codes_of(story.judged(dead_letter_original_acked_after_receipt)) == ["acked-first"]


def test_original_that_stays_behind_its_letters_receipt_is_found() -> None:
    story = refused_twice()
    story.posts()
    story.receipt(0, producer_id=5)
    assert codes_of(story.judged(dead_letter_original_acked_after_receipt)) == ["not-acked"]


def test_message_asked_for_again_because_its_letter_was_refused_is_accepted() -> None:
    story = refused_twice()
    story.posts()
    story.down("SEND_ERROR", producer_id=5, sequence_id=0, fields={"error": "NotAllowedError"})
    story.redeliver_frame(0)
    check = story.judged(dead_letter_original_acked_after_receipt)
    assert (check.findings, check.exercised) == ([], 1)


def test_message_forgotten_when_its_letter_was_refused_is_found() -> None:
    story = refused_twice()
    story.posts()
    story.down("SEND_ERROR", producer_id=5, sequence_id=0, fields={"error": "NotAllowedError"})
    assert codes_of(story.judged(dead_letter_original_acked_after_receipt)) == ["not-redelivered"]


def test_message_forgotten_when_its_letter_was_refused_is_found_beside_a_reader_of_letters() -> None:
    """As with pulsar-client-go 0.12.1, whose producer of letters does nothing more after NotAllowedError."""
    story = refused_twice()
    story.posts()
    story.down("SEND_ERROR", producer_id=5, sequence_id=0, fields={"error": "NotAllowedError"})
    story.up("LOOKUP", request_id=77, fields={"topic": f"{story.full('t')}-s-DLQ"})
    story.down("LOOKUP_RESPONSE", request_id=77, fields={"response": "Connect"})
    assert codes_of(story.judged(dead_letter_original_acked_after_receipt)) == ["not-redelivered"]


def test_message_forgotten_when_the_producer_of_letters_was_refused_is_found() -> None:
    story = Letters()
    story.comes(1)
    story.refuse()
    asked = story.producer_asks(producer_id=5, topic=f"{story.full('t')}-s-DLQ")
    story.down("ERROR", request_id=asked.request_id, fields={"error": "NotAllowedError"})
    assert codes_of(story.judged(dead_letter_original_acked_after_receipt)) == ["not-redelivered"]


def test_message_at_its_maximum_that_is_asked_for_again_is_found() -> None:
    story = refused_twice()
    story.redeliver_frame(0)
    assert codes_of(story.judged(dead_letter_original_acked_after_receipt)) == ["asked-again"]


@pytest.mark.parametrize(("called_first", "codes"), [(True, []), (False, ["asked-again"])])
def test_refusal_from_before_a_failed_letter_was_given_back_is_of_the_delivery_before(
    called_first: bool, codes: list[str]
) -> None:
    story = refused_once_more_than_it_may_be()
    asked = story.producer_asks(producer_id=5, topic=f"{story.full('t')}-s-DLQ")
    story.down("ERROR", request_id=asked.request_id, fields={"error": "NotAllowedError"})
    nack = story.invoke("nack", CONSUMER, args={"messages": [2]})
    story.redeliver_frame(0)
    story.message(0, handle=STORED, redelivery_count=2)
    story.complete(nack, called_ns=nack.t_ns if called_first else story.now_ns)
    story.opens()
    story.after(300).redeliver_frame(0)
    assert codes_of(story.judged(dead_letter_original_acked_after_receipt)) == codes


def test_message_asked_for_on_a_connection_that_is_lost_already_is_not_judged() -> None:
    story = refused_twice()
    story.redeliver_frame(0, fate=Fate.CUT)
    assert codes_of(story.judged(dead_letter_original_acked_after_receipt)) == []


@pytest.mark.parametrize(("fate", "codes"), [(Fate.PASSED, ["asked-again"]), (Fate.DUPLICATED, [])])
def test_each_copy_of_what_a_fault_repeated_may_be_asked_for(fate: Fate, codes: list[str]) -> None:
    story = Letters(max_redeliver_count=1)
    for _ in range(2):
        story.message(0, handle=STORED, redelivery_count=2, fate=fate)
    story.opens()
    story.redeliver_frame(0)
    assert codes_of(story.judged(dead_letter_original_acked_after_receipt)) == codes


def test_message_that_another_consumer_asks_for_is_not_given_back() -> None:
    """One that had it before, and was told late that it is refused."""
    story = refused_twice()
    story.consumer(CONSUMER + 1, conn=1, kind="Shared")
    story.redeliver_frame(0, conn=1)
    story.posts()
    story.receipt(0, producer_id=5)
    story.acks()
    assert codes_of(story.judged(dead_letter_original_acked_after_receipt)) == []


def test_message_at_its_maximum_of_which_nothing_becomes_is_found() -> None:
    story = Letters()
    story.comes(1)
    story.refuse()
    assert codes_of(story.judged(dead_letter_original_acked_after_receipt)) == ["not-posted"]


def test_message_that_the_application_acknowledged_after_all_is_none_of_it() -> None:
    story = refused_twice()
    story.complete(story.invoke("ack", CONSUMER, args={"messages": [2]}))
    story.acks()
    check = story.judged(dead_letter_original_acked_after_receipt)
    assert (check.findings, check.exercised) == ([], 0)


@pytest.mark.parametrize(("goes_round", "codes"), [(True, []), (False, ["not-posted"])])
def test_message_that_is_refused_when_its_retry_letter_has_settled_it_is_not_buried(
    goes_round: bool, codes: list[str]
) -> None:
    story = Letters(retry_letters=True)
    story.comes(1)
    if goes_round:
        story.complete(story.invoke("reconsume_later", CONSUMER, args={"messages": [1], "delay_ms": DELAY_MS}))
        story.acks()
    story.refuse()
    assert codes_of(story.judged(dead_letter_original_acked_after_receipt)) == codes


@pytest.mark.parametrize(("sent_round", "codes"), [(True, []), (False, ["not-acked"])])
def test_dead_letter_of_a_copy_that_is_sent_round_is_not_that_of_its_original(
    sent_round: bool, codes: list[str]
) -> None:
    """The original comes again, unseen, as its first letter had no receipt."""
    story = sent_round_again()[0] if sent_round else Letters(retry_letters=True)
    story.message(0, handle=STORED, redelivery_count=1)
    story.producer_ready(producer_id=5, conn=0, topic=f"{story.full('t')}-s-DLQ", name="buries")
    story.posts()
    story.receipt(0, producer_id=5)
    assert codes_of(story.judged(dead_letter_original_acked_after_receipt)) == codes


def test_message_that_comes_again_in_spite_of_its_retry_letter_is_to_be_buried() -> None:
    story = Letters(retry_letters=True)
    story.comes(0)
    story.complete(story.invoke("reconsume_later", CONSUMER, args={"messages": [1], "delay_ms": DELAY_MS}))
    story.comes(1)
    story.refuse(2)
    assert codes_of(story.judged(dead_letter_original_acked_after_receipt)) == ["not-posted"]


def _second_producer(epoch: int) -> Check:
    story = Letters()
    asked = story.producer_asks(producer_id=5, topic=f"{story.full('t')}-s-DLQ", name="taken", epoch=epoch)
    story.down("ERROR", request_id=asked.request_id, fields={"error": "ProducerBusy"}, fate=Fate.PASSED)
    return story.judged(dead_letter_original_acked_after_receipt)


def test_second_producer_of_letters_under_one_name_is_found() -> None:
    assert codes_of(_second_producer(epoch=0)) == ["name-taken"]


def test_producer_of_letters_that_finds_itself_still_there_is_accepted() -> None:
    assert codes_of(_second_producer(epoch=1)) == []


@pytest.mark.parametrize(
    ("told", "codes"),
    [
        ({}, ["asked-again"]),
        ({"size": 900}, []),
        ({"meta": Meta(producer_name="p", sequence_id=0, uncompressed_size=900)}, []),
    ],
)
def test_message_whose_letter_may_be_too_large_to_send_may_be_asked_for_again(
    told: dict[str, Any], codes: list[str]
) -> None:
    story = Letters()
    for count in (0, 1):
        story.message(0, handle=STORED, redelivery_count=count, **told)
        story.received(0, handle=STORED, redelivery_count=count)
        story.refuse(count + 1)
        story.redeliver_frame(0)
    small = msgspec.structs.replace(ANY_CASE, topology=Topology(max_message_bytes=1_000))
    assert codes_of(trial(dead_letter_original_acked_after_receipt, story.at(5_000).done(), small)) == codes


def test_letter_a_chunk_of_which_a_fault_took_may_have_had_its_receipt() -> None:
    story = refused_twice()
    chunk = Meta(producer_name="letters", sequence_id=0, chunk_id=0, chunks=2)
    story.send_frame(0, producer_id=5, meta=chunk, members=(), fate=Fate.DROPPED, sides=Sides.SENDER)
    story.posts()
    story.acks()
    assert codes_of(story.judged(dead_letter_original_acked_after_receipt)) == []


def test_original_of_a_letter_that_could_not_be_sent_comes_again_with_a_new_connection() -> None:
    story = refused_twice()
    story.posts()
    story.down("SEND_ERROR", producer_id=5, sequence_id=0, fields={"error": "NotAllowedError"})
    story.closed()
    story.connected(1)
    story.subscribed(1, kind="Shared")
    story.producer_ready(1, producer_id=5, topic=f"{story.full('t')}-s-DLQ", name="letters")
    assert codes_of(story.judged(dead_letter_original_acked_after_receipt)) == []


def test_letter_that_did_not_leave_by_its_producer_is_over_with_the_connection() -> None:
    """One that is too large for a broker's largest message is refused by its own client, which nobody sees."""
    story = refused_twice()
    story.cut()
    story.connected(1)
    story.subscribed(1, kind="Shared")
    story.producer_ready(1, producer_id=5, topic=f"{story.full('t')}-s-DLQ", name="letters")
    assert codes_of(story.judged(dead_letter_original_acked_after_receipt)) == []


def test_letter_whose_first_producer_is_let_in_behind_the_connection_is_still_to_be_sent() -> None:
    story = refused_once_more_than_it_may_be()
    story.cut()
    story.connected(1)
    story.subscribed(1, kind="Shared")
    story.producer_ready(1, producer_id=5, topic=f"{story.full('t')}-s-DLQ", name="letters")
    assert codes_of(story.judged(dead_letter_original_acked_after_receipt)) == ["not-posted"]


@pytest.mark.parametrize(("registers_first", "codes"), [(False, []), (True, ["not-redelivered"])])
def test_whoever_registers_behind_a_refused_letter_is_sent_its_original_by_itself(
    registers_first: bool, codes: list[str]
) -> None:
    story = refused_once_more_than_it_may_be()
    story.cut()
    story.connected(1)
    if registers_first:
        story.subscribed(1, kind="Shared")
    asked = story.producer_asks(1, producer_id=5, topic=f"{story.full('t')}-s-DLQ")
    story.down("ERROR", 1, request_id=asked.request_id, fields={"error": "NotAllowedError"})
    if not registers_first:
        story.subscribed(1, kind="Shared")
    assert codes_of(story.judged(dead_letter_original_acked_after_receipt)) == codes


@pytest.mark.parametrize(("error", "codes"), [("TopicTerminatedError", []), (None, ["asked-again"])])
def test_letter_whose_topic_cannot_be_looked_up_is_asked_for_again(error: str | None, codes: list[str]) -> None:
    story = refused_once_more_than_it_may_be()
    story.up("LOOKUP", request_id=70, fields={"topic": f"{story.full('t')}-s-DLQ"})
    story.down("LOOKUP_RESPONSE", request_id=70, fields={"response": "Failed", "error": error} if error else {})
    story.opens()
    story.redeliver_frame(0)
    assert codes_of(story.judged(dead_letter_original_acked_after_receipt)) == codes


def test_letter_that_a_fault_refused_is_no_riddle() -> None:
    story = refused_twice()
    story.send_frame(0, producer_id=5, fate=Fate.DROPPED, sides=Sides.SENDER)
    story.down("SEND_ERROR", producer_id=5, sequence_id=0, fields={"error": "NotAllowedError"})
    story.posts()
    story.acks()
    assert codes_of(story.judged(dead_letter_original_acked_after_receipt)) == ["acked-first"]


def test_letter_that_a_fault_repeated_has_a_receipt_too_many() -> None:
    story = refused_twice()
    for _ in range(2):
        story.send_frame(0, producer_id=5, fate=Fate.DUPLICATED, sides=Sides.RECEIVER)
    story.down("SEND_ERROR", producer_id=5, sequence_id=0, fields={"error": "ServiceNotReady"})
    story.posts()
    story.acks()
    assert codes_of(story.judged(dead_letter_original_acked_after_receipt)) == []


def test_receipt_that_comes_when_its_consumer_is_not_let_in_any_more_settles_nothing() -> None:
    story = refused_twice()
    story.posts()
    story.down("CLOSE_CONSUMER", consumer_id=0)
    story.receipt(0, producer_id=5)
    assert codes_of(story.judged(dead_letter_original_acked_after_receipt)) == []


def test_letter_under_way_when_the_connection_ends_settles_its_original_later() -> None:
    story = refused_twice()
    story.posts()
    story.cut()
    story.connected(1)
    story.subscribed(1, kind="Shared")
    story.producer_ready(1, producer_id=5, topic=f"{story.full('t')}-s-DLQ", name="letters")
    story.ack_frame(0, conn=1)
    assert codes_of(story.judged(dead_letter_original_acked_after_receipt)) == ["acked-first"]
