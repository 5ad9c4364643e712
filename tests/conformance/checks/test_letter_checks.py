"""Retry letters and dead letters: copies that lack something, originals settled too early or never, counts."""

from __future__ import annotations

from functools import partial
from typing import Any

import msgspec
import pytest

from assay_conformance.checks.base import Check
from assay_conformance.checks.letters import (
    AsksForFirstSubscription,
    BuriedAlone,
    BuriedThenAcked,
    CountsToItsMaximum,
    LargeIsBuried,
    RetriedThenAcked,
    WholeDeadLetter,
    WholeRetryLetter,
)
from assay_conformance.checks.trial import ANY_CASE, trial
from assay_conformance.history.script import CONSUMER, Script, digest_of
from assay_conformance.model.case import Topology
from assay_conformance.model.event import Fate, Invoke, Member, Meta, Sides

STORED = 9
"""The producer handle of the original: none that the story opens."""

DELAY_MS = 300


class _Letters(Script):
    """A message on a shared subscription whose letters go to topics of their own; `own` its properties."""

    def __init__(
        self,
        own: int = 7,
        chunk: int | None = None,
        chunks: int | None = None,
        batch: int | None = None,
        **config: Any,
    ) -> None:
        super().__init__()
        config = {"subscription_type": "shared", "nack_delay_ms": 100, "max_redeliver_count": 1, **config}
        of_several: dict[str, Any] = {"chunk_id": chunk, "chunks": chunks, "batch": batch}
        meta = Meta(producer_name="p", sequence_id=0, key="k", own_properties=own, **of_several)
        self.stored(0, handle=STORED, meta=meta)
        self.consumer(kind="Shared", **config)

    def comes(self, count: int) -> None:
        self.message(0, handle=STORED, redelivery_count=count)
        self.received(0, handle=STORED, redelivery_count=count)

    def refuse(self, delivery: int = 1) -> None:
        self.complete(self.invoke("nack", CONSUMER, args={"messages": [delivery]}))

    def opens(self, kind: str = "DLQ", **fields: Any) -> None:
        self.producer_ready(producer_id=5, topic=f"{self.full('t')}-s-{kind}", name="letters", **fields)

    def posts(self, own: int = 7, digest: int | None = None, number: int = 0, conn: int = 0, **told: Any) -> None:
        letter = {"REAL_TOPIC": self.full("t"), "ORIGIN_MESSAGE_ID": "(1,0,-1,-1)", **told.pop("letter", {})}
        meta = Meta(
            producer_name="letters", sequence_id=number, own_properties=own, letter=letter, **{"key": "k", **told}
        )
        member = Member(size=64, digest=digest_of(0, STORED) if digest is None else digest)
        self.send_frame(number, conn=conn, producer_id=5, handle=STORED, name="letters", meta=meta, members=(member,))

    def acks(self) -> None:
        self.ack_frame(0)

    def judged(self, check: type[Check]) -> Check:
        return trial(check, self.at(5_000).done())


def _codes(check: Check) -> list[str]:
    return [finding.code for finding in check.findings]


def _refused_once_more_than_it_may_be(**config: Any) -> _Letters:
    story = _Letters(**config)
    story.comes(0)
    story.refuse(1)
    story.redeliver_frame(0)
    story.comes(1)
    story.refuse(2)
    return story


def _refused_twice(**config: Any) -> _Letters:
    story = _refused_once_more_than_it_may_be(**config)
    story.opens()
    return story


# --- dead-letter-is-whole ---------------------------------------------------------------------------------------------


def test_dead_letter_with_all_of_its_original_is_accepted() -> None:
    story = _refused_twice()
    story.posts()
    check = story.judged(WholeDeadLetter)
    assert (check.findings, check.exercised) == ([], 1)


def test_origin_in_the_spelling_of_the_java_client_is_accepted() -> None:
    story = _refused_twice()
    story.posts(letter={"ORIGIN_MESSAGE_ID": "", "ORIGIN_MESSAGE_IDY_TIME": "1:0:-1"})
    assert _codes(story.judged(WholeDeadLetter)) == ["no-origin"]
    story = _refused_twice()
    letter = {"REAL_TOPIC": story.full("t"), "ORIGIN_MESSAGE_IDY_TIME": "1:0:-1"}
    meta = Meta(producer_name="letters", sequence_id=0, own_properties=7, letter=letter, key="k")
    story.send_frame(0, producer_id=5, handle=STORED, meta=meta)
    assert _codes(story.judged(WholeDeadLetter)) == []


@pytest.mark.parametrize(
    ("told", "code"),
    [
        ({"letter": {"ORIGIN_MESSAGE_ID": "nobody"}}, "no-origin"),
        ({"letter": {"REAL_TOPIC": "another"}}, "other-topic"),
        ({"digest": 1}, "payload-changed"),
        ({"key": None}, "keys-changed"),
        ({"ordering_key": b"o"}, "keys-changed"),
        ({"own": 0}, "properties-changed"),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else value,
)
def test_dead_letter_that_lacks_something_is_found(told: dict[str, Any], code: str) -> None:
    story = _refused_twice()
    story.posts(**told)
    assert _codes(story.judged(WholeDeadLetter)) == [code]


# --- buried-then-acked ------------------------------------------------------------------------------------------------


def test_original_that_goes_with_its_letters_receipt_is_accepted() -> None:
    story = _refused_twice()
    story.posts()
    story.receipt(0, producer_id=5)
    story.acks()
    check = story.judged(BuriedThenAcked)
    assert (check.findings, check.exercised) == ([], 1)


def test_message_that_is_refused_once_more_when_its_letter_has_settled_it_may_be_asked_for() -> None:
    story = _refused_twice()
    story.posts()
    story.receipt(0, producer_id=5)
    story.acks()
    story.refuse(2)
    story.redeliver_frame(0)
    check = story.judged(BuriedThenAcked)
    assert (check.findings, check.exercised) == ([], 1)


def test_message_may_be_refused_once_more_while_its_acknowledgment_is_kept_with_others() -> None:
    story = _refused_twice()
    story.posts()
    story.receipt(0, producer_id=5)
    story.refuse(2)
    story.acks()
    story.redeliver_frame(0)
    assert _codes(story.judged(BuriedThenAcked)) == []


def test_message_may_be_refused_once_more_while_its_letter_is_under_way() -> None:
    story = _refused_twice()
    story.posts()
    story.refuse(2)
    story.redeliver_frame(0)
    assert _codes(story.judged(BuriedThenAcked)) == []


@pytest.mark.parametrize("receipted_first", [True, False])
def test_message_that_comes_again_is_settled_by_the_letter_it_has(receipted_first: bool) -> None:
    story = _refused_twice()
    story.posts()
    if receipted_first:
        story.receipt(0, producer_id=5)
    story.refuse(2)
    story.redeliver_frame(0)
    story.message(0, handle=STORED, redelivery_count=2)
    if not receipted_first:
        story.receipt(0, producer_id=5)
    story.acks()
    assert _codes(story.judged(BuriedThenAcked)) == []


@pytest.mark.parametrize(("receipted", "codes"), [(True, []), (False, ["acked-first"])])
def test_letter_for_a_refusal_of_an_earlier_delivery_settles_a_later_one(receipted: bool, codes: list[str]) -> None:
    """Refused twice when it came first, it comes a second time only to become a letter, and a third before that is
    settled."""
    story = _Letters()
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
    assert _codes(story.judged(BuriedThenAcked)) == codes


def test_message_whose_letter_has_failed_comes_again_however_often_it_is_refused() -> None:
    story = _refused_twice()
    story.posts()
    story.down("SEND_ERROR", producer_id=5, sequence_id=0, fields={"error": "NotAllowedError"})
    story.refuse(2)
    story.redeliver_frame(0)
    assert _codes(story.judged(BuriedThenAcked)) == []


def test_original_acknowledged_before_its_letters_receipt_is_found() -> None:
    story = _refused_twice()
    story.posts()
    story.acks()
    story.receipt(0, producer_id=5)
    assert _codes(story.judged(BuriedThenAcked)) == ["acked-first"]


def test_original_that_stays_behind_its_letters_receipt_is_found() -> None:
    story = _refused_twice()
    story.posts()
    story.receipt(0, producer_id=5)
    assert _codes(story.judged(BuriedThenAcked)) == ["not-acked"]


def test_message_asked_for_again_because_its_letter_was_refused_is_accepted() -> None:
    story = _refused_twice()
    story.posts()
    story.down("SEND_ERROR", producer_id=5, sequence_id=0, fields={"error": "NotAllowedError"})
    story.redeliver_frame(0)
    check = story.judged(BuriedThenAcked)
    assert (check.findings, check.exercised) == ([], 1)


def test_message_forgotten_when_its_letter_was_refused_is_found() -> None:
    story = _refused_twice()
    story.posts()
    story.down("SEND_ERROR", producer_id=5, sequence_id=0, fields={"error": "NotAllowedError"})
    assert _codes(story.judged(BuriedThenAcked)) == ["not-redelivered"]


def test_message_forgotten_when_the_producer_of_letters_was_refused_is_found() -> None:
    story = _Letters()
    story.comes(1)
    story.refuse()
    asked = story.producer_asks(producer_id=5, topic=f"{story.full('t')}-s-DLQ")
    story.down("ERROR", request_id=asked.request_id, fields={"error": "NotAllowedError"})
    assert _codes(story.judged(BuriedThenAcked)) == ["not-redelivered"]


def test_message_at_its_maximum_that_is_asked_for_again_is_found() -> None:
    story = _refused_twice()
    story.redeliver_frame(0)
    assert _codes(story.judged(BuriedThenAcked)) == ["asked-again"]


@pytest.mark.parametrize(("fate", "codes"), [(Fate.PASSED, ["asked-again"]), (Fate.DUPLICATED, [])])
def test_each_copy_of_what_a_fault_repeated_may_be_asked_for(fate: Fate, codes: list[str]) -> None:
    story = _Letters(max_redeliver_count=1)
    for _ in range(2):
        story.message(0, handle=STORED, redelivery_count=2, fate=fate)
    story.opens()
    story.redeliver_frame(0)
    assert _codes(story.judged(BuriedThenAcked)) == codes


def test_message_that_another_consumer_asks_for_is_not_given_back() -> None:
    """One that had it before, and was told late that it is refused."""
    story = _refused_twice()
    story.consumer(CONSUMER + 1, conn=1, kind="Shared")
    story.redeliver_frame(0, conn=1)
    story.posts()
    story.receipt(0, producer_id=5)
    story.acks()
    assert _codes(story.judged(BuriedThenAcked)) == []


def test_message_at_its_maximum_of_which_nothing_becomes_is_found() -> None:
    story = _Letters()
    story.comes(1)
    story.refuse()
    assert _codes(story.judged(BuriedThenAcked)) == ["not-posted"]


def test_message_that_the_application_acknowledged_after_all_is_none_of_it() -> None:
    story = _refused_twice()
    story.complete(story.invoke("ack", CONSUMER, args={"messages": [2]}))
    story.acks()
    check = story.judged(BuriedThenAcked)
    assert (check.findings, check.exercised) == ([], 0)


@pytest.mark.parametrize(("goes_round", "codes"), [(True, []), (False, ["not-posted"])])
def test_message_that_is_refused_when_its_retry_letter_has_settled_it_is_not_buried(
    goes_round: bool, codes: list[str]
) -> None:
    story = _Letters(retry_letters=True)
    story.comes(1)
    if goes_round:
        story.complete(story.invoke("reconsume_later", CONSUMER, args={"messages": [1], "delay_ms": DELAY_MS}))
        story.acks()
    story.refuse()
    assert _codes(story.judged(BuriedThenAcked)) == codes


def test_message_that_comes_again_in_spite_of_its_retry_letter_is_to_be_buried() -> None:
    story = _Letters(retry_letters=True)
    story.comes(0)
    story.complete(story.invoke("reconsume_later", CONSUMER, args={"messages": [1], "delay_ms": DELAY_MS}))
    story.comes(1)
    story.refuse(2)
    assert _codes(story.judged(BuriedThenAcked)) == ["not-posted"]


def _second_producer(epoch: int) -> Check:
    story = _Letters()
    asked = story.producer_asks(producer_id=5, topic=f"{story.full('t')}-s-DLQ", name="taken", epoch=epoch)
    story.down("ERROR", request_id=asked.request_id, fields={"error": "ProducerBusy"}, fate=Fate.PASSED)
    return story.judged(BuriedThenAcked)


def test_second_producer_of_letters_under_one_name_is_found() -> None:
    assert _codes(_second_producer(epoch=0)) == ["name-taken"]


def test_producer_of_letters_that_finds_itself_still_there_is_accepted() -> None:
    assert _codes(_second_producer(epoch=1)) == []


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
    story = _Letters()
    for count in (0, 1):
        story.message(0, handle=STORED, redelivery_count=count, **told)
        story.received(0, handle=STORED, redelivery_count=count)
        story.refuse(count + 1)
        story.redeliver_frame(0)
    small = msgspec.structs.replace(ANY_CASE, topology=Topology(max_message_bytes=1_000))
    assert _codes(trial(BuriedThenAcked, story.at(5_000).done(), small)) == codes


def test_large_message_is_a_matter_of_its_own() -> None:
    story = _refused_twice(chunk=0)
    story.redeliver_frame(0)
    assert _codes(story.judged(LargeIsBuried)) == ["asked-again"]
    assert trial(BuriedThenAcked, story.events).findings == []


def test_large_message_that_is_buried_is_accepted() -> None:
    story = _refused_twice(chunk=0)
    story.posts()
    story.receipt(0, producer_id=5)
    story.acks()
    check = story.judged(LargeIsBuried)
    assert (check.findings, check.exercised) == ([], 1)


@pytest.mark.parametrize(("acks", "codes"), [(False, ["never-again"]), (True, [])])
def test_large_message_that_never_comes_again_is_found_unless_it_was_acknowledged(acks: bool, codes: list[str]) -> None:
    story = _Letters(chunk=0)
    story.comes(0)
    if acks:
        story.complete(story.invoke("ack", CONSUMER, args={"messages": [1]}))
    story.refuse()
    waiting = story.invoke("receive", CONSUMER, args={"count": 1})
    story.at(3_000).complete(waiting, count=0)
    assert _codes(story.judged(LargeIsBuried)) == codes


@pytest.mark.parametrize("acked", [True, False])
def test_large_message_that_is_a_letter_does_not_come_again_when_an_earlier_delivery_is_refused(acked: bool) -> None:
    story = _refused_twice(chunk=0)
    story.posts()
    story.receipt(0, producer_id=5)
    if acked:
        story.acks()
    story.refuse(1)
    waiting = story.invoke("receive", CONSUMER, args={"count": 1})
    story.at(3_000).complete(waiting, count=0)
    assert "never-again" not in _codes(story.judged(LargeIsBuried))


def test_large_message_does_not_come_again_where_the_permits_for_it_were_lost() -> None:
    story = _Letters(chunk=0)
    story.comes(0)
    story.refuse()
    waiting = story.invoke("receive", CONSUMER, args={"count": 1})
    story.up("FLOW", consumer_id=0, permits=1_000, sides=Sides.SENDER, fate=Fate.DROPPED)
    story.at(3_000).complete(waiting, count=0)
    assert _codes(story.judged(LargeIsBuried)) == []


@pytest.mark.parametrize("refused", [None, "before", "behind"])
def test_letter_a_chunk_of_which_is_refused_is_none(refused: str | None) -> None:
    """Whether that is known when the last chunk leaves or not, and whatever receipt that one has."""
    story = _refused_twice(chunk=0)
    _posts_chunk(story, 0)
    answer = partial(story.down, "SEND_ERROR", producer_id=5, sequence_id=0, fields={"error": "NotAllowedError"})
    if refused == "before":
        answer()
    _posts_chunk(story, 1)
    if refused == "behind":
        answer()
    if refused is None:
        story.receipt(0, producer_id=5)
    story.receipt(0, producer_id=5)
    story.redeliver_frame(0)
    assert _codes(story.judged(LargeIsBuried)) == ([] if refused else ["not-acked"])


@pytest.mark.parametrize("refused", [0, 1])
@pytest.mark.parametrize(("again", "codes"), [(False, ["acked-first"]), (True, [])])
def test_letter_of_which_a_refused_chunk_is_sent_again_is_one(refused: int, again: bool, codes: list[str]) -> None:
    story = _refused_twice(chunk=0)
    for chunk_id in (0, 1):
        _posts_chunk(story, chunk_id)
        if chunk_id == refused:
            story.down("SEND_ERROR", producer_id=5, sequence_id=0, fields={"error": "TooManyRequests"})
        else:
            story.receipt(0, producer_id=5)
    story.closed()
    story.connected(1)
    story.subscribed(1, kind="Shared")
    story.opens(conn=1)
    for chunk_id in range(refused, 2) if again else ():
        _posts_chunk(story, chunk_id, conn=1)
        story.receipt(0, conn=1, producer_id=5)
    story.ack_frame(0, conn=1)
    assert _codes(story.judged(LargeIsBuried)) == codes


def _posts_chunk(story: _Letters, chunk_id: int, conn: int = 0) -> None:
    """One of the two chunks of a letter, the last of which holds its message."""
    if chunk_id:
        story.posts(conn=conn, uuid="u", chunk_id=1, chunks=2)
    else:
        meta = Meta(producer_name="letters", sequence_id=0, uuid="u", chunk_id=0, chunks=2)
        story.send_frame(0, conn=conn, producer_id=5, handle=STORED, name="letters", meta=meta, members=())


def _beyond_its_maximum(*entries: int) -> _Letters:
    """A large message has been stored in two chunks, and these of its entries come beyond their maximum."""
    story = _Letters(chunk=0, chunks=2)
    last = Meta(producer_name="p", sequence_id=0, own_properties=7, chunk_id=1, chunks=2)
    story.stored(1, handle=STORED, meta=last)
    for entry in entries:
        story.message(entry, handle=STORED, redelivery_count=2)
    return story


def test_large_message_that_came_too_often_and_became_no_letter_is_found() -> None:
    assert _codes(_beyond_its_maximum(0, 1).judged(LargeIsBuried)) == ["not-posted"]


@pytest.mark.parametrize("entries", [(1,), (1, 0, 0), (1, 1)])
def test_some_of_the_chunks_of_a_message_make_no_letter(entries: tuple[int, ...]) -> None:
    assert _codes(_beyond_its_maximum(*entries).judged(LargeIsBuried)) == []


def test_large_message_of_a_consumer_that_is_not_let_in_again_need_not_come() -> None:
    story = _Letters(chunk=0)
    story.comes(0)
    story.refuse()
    waiting = story.invoke("receive", CONSUMER, args={"count": 1})
    story.cut()
    story.at(3_000).complete(waiting, count=0)
    assert _codes(story.judged(LargeIsBuried)) == []


def test_letter_a_chunk_of_which_a_fault_took_may_have_had_its_receipt() -> None:
    story = _refused_twice()
    chunk = Meta(producer_name="letters", sequence_id=0, chunk_id=0, chunks=2)
    story.send_frame(0, producer_id=5, meta=chunk, members=(), fate=Fate.DROPPED, sides=Sides.SENDER)
    story.posts()
    story.acks()
    assert _codes(story.judged(BuriedThenAcked)) == []


def test_original_of_a_letter_that_could_not_be_sent_comes_again_with_a_new_connection() -> None:
    story = _refused_twice()
    story.posts()
    story.down("SEND_ERROR", producer_id=5, sequence_id=0, fields={"error": "NotAllowedError"})
    story.closed()
    story.connected(1)
    story.subscribed(1, kind="Shared")
    story.producer_ready(1, producer_id=5, topic=f"{story.full('t')}-s-DLQ", name="letters")
    assert _codes(story.judged(BuriedThenAcked)) == []


def test_letter_that_did_not_leave_by_its_producer_is_over_with_the_connection() -> None:
    """One that is too large for a broker's largest message is refused by its own client, which nobody sees."""
    story = _refused_twice()
    story.cut()
    story.connected(1)
    story.subscribed(1, kind="Shared")
    story.producer_ready(1, producer_id=5, topic=f"{story.full('t')}-s-DLQ", name="letters")
    assert _codes(story.judged(BuriedThenAcked)) == []


def test_letter_whose_first_producer_is_let_in_behind_the_connection_is_still_to_be_sent() -> None:
    story = _refused_once_more_than_it_may_be()
    story.cut()
    story.connected(1)
    story.subscribed(1, kind="Shared")
    story.producer_ready(1, producer_id=5, topic=f"{story.full('t')}-s-DLQ", name="letters")
    assert _codes(story.judged(BuriedThenAcked)) == ["not-posted"]


@pytest.mark.parametrize(("registers_first", "codes"), [(False, []), (True, ["not-redelivered"])])
def test_whoever_registers_behind_a_refused_letter_is_sent_its_original_by_itself(
    registers_first: bool, codes: list[str]
) -> None:
    story = _refused_once_more_than_it_may_be()
    story.cut()
    story.connected(1)
    if registers_first:
        story.subscribed(1, kind="Shared")
    asked = story.producer_asks(1, producer_id=5, topic=f"{story.full('t')}-s-DLQ")
    story.down("ERROR", 1, request_id=asked.request_id, fields={"error": "NotAllowedError"})
    if not registers_first:
        story.subscribed(1, kind="Shared")
    assert _codes(story.judged(BuriedThenAcked)) == codes


@pytest.mark.parametrize(("error", "codes"), [("TopicTerminatedError", []), (None, ["asked-again"])])
def test_letter_whose_topic_cannot_be_looked_up_is_asked_for_again(error: str | None, codes: list[str]) -> None:
    story = _refused_once_more_than_it_may_be()
    story.up("LOOKUP", request_id=70, fields={"topic": f"{story.full('t')}-s-DLQ"})
    story.down("LOOKUP_RESPONSE", request_id=70, fields={"response": "Failed", "error": error} if error else {})
    story.opens()
    story.redeliver_frame(0)
    assert _codes(story.judged(BuriedThenAcked)) == codes


def test_letter_that_a_fault_refused_is_no_riddle() -> None:
    story = _refused_twice()
    story.send_frame(0, producer_id=5, fate=Fate.DROPPED, sides=Sides.SENDER)
    story.down("SEND_ERROR", producer_id=5, sequence_id=0, fields={"error": "NotAllowedError"})
    story.posts()
    story.acks()
    assert _codes(story.judged(BuriedThenAcked)) == ["acked-first"]


def test_letter_that_a_fault_repeated_has_a_receipt_too_many() -> None:
    story = _refused_twice()
    for _ in range(2):
        story.send_frame(0, producer_id=5, fate=Fate.DUPLICATED, sides=Sides.RECEIVER)
    story.down("SEND_ERROR", producer_id=5, sequence_id=0, fields={"error": "ServiceNotReady"})
    story.posts()
    story.acks()
    assert _codes(story.judged(BuriedThenAcked)) == []


def test_chunks_before_the_last_become_no_letters() -> None:
    story = _Letters(chunk=0, chunks=3)
    story.message(0, handle=STORED, redelivery_count=2)
    story.acks()
    assert _codes(story.judged(LargeIsBuried)) == []


def test_receipt_that_comes_when_its_consumer_is_not_let_in_any_more_settles_nothing() -> None:
    story = _refused_twice()
    story.posts()
    story.down("CLOSE_CONSUMER", consumer_id=0)
    story.receipt(0, producer_id=5)
    assert _codes(story.judged(BuriedThenAcked)) == []


def test_large_message_a_chunk_of_which_was_lost_on_the_way_need_not_come_again() -> None:
    story = _Letters(chunk=0)
    story.comes(0)
    story.refuse()
    story.message(0, handle=STORED, fate=Fate.DROPPED, sides=Sides.SENDER)
    waiting = story.invoke("receive", CONSUMER, args={"count": 1})
    story.at(3_000).complete(waiting, count=0)
    assert _codes(story.judged(LargeIsBuried)) == []


def test_letter_under_way_when_the_connection_ends_settles_its_original_later() -> None:
    story = _refused_twice()
    story.posts()
    story.cut()
    story.connected(1)
    story.subscribed(1, kind="Shared")
    story.producer_ready(1, producer_id=5, topic=f"{story.full('t')}-s-DLQ", name="letters")
    story.ack_frame(0, conn=1)
    assert _codes(story.judged(BuriedThenAcked)) == ["acked-first"]


# --- counts-to-its-maximum --------------------------------------------------------------------------------------------


def test_message_buried_at_its_maximum_is_accepted() -> None:
    story = _refused_twice()
    story.posts()
    check = story.judged(CountsToItsMaximum)
    assert (check.findings, check.exercised) == ([], 1)


def test_message_buried_before_its_maximum_is_found() -> None:
    story = _Letters()
    story.comes(0)
    story.refuse()
    story.opens()
    story.posts()
    assert _codes(story.judged(CountsToItsMaximum)) == ["too-soon"]


def test_message_that_never_went_round_and_was_redelivered_as_often_may_be_buried() -> None:
    story = _Letters()
    story.comes(0)
    story.complete(story.invoke("reconsume_later", CONSUMER, args={"messages": [1]}))
    story.redeliver_frame(0)
    story.comes(1)
    story.refuse(2)
    story.opens()
    story.posts()
    assert _codes(story.judged(CountsToItsMaximum)) == []


def test_message_handed_over_beyond_its_maximum_is_found() -> None:
    story = _Letters()
    story.comes(2)
    assert _codes(story.judged(CountsToItsMaximum)) == ["beyond-maximum"]


def test_message_sent_round_beyond_its_maximum_is_found() -> None:
    story = _sent_round()
    story.posts(letter={"RECONSUMETIMES": "2", "DELAY_TIME": str(DELAY_MS)})
    assert _codes(story.judged(CountsToItsMaximum)) == ["beyond-maximum"]


# --- how dead letters are sent ----------------------------------------------------------------------------------------


def test_dead_letter_alone_is_accepted() -> None:
    story = _refused_twice()
    story.posts()
    check = story.judged(BuriedAlone)
    assert (check.findings, check.exercised) == ([], 1)


def test_dead_letter_in_a_batch_is_found() -> None:
    story = _refused_twice()
    story.posts(batch=1)
    assert _codes(story.judged(BuriedAlone)) == ["batched"]


@pytest.mark.parametrize(("named", "codes"), [("keeper", []), ("other", ["not-asked-for"])])
def test_first_subscription_is_to_be_the_one_configured(named: str, codes: list[str]) -> None:
    story = _Letters(dead_letter_subscription="keeper")
    story.opens(initial_subscription_name=named)
    check = story.judged(AsksForFirstSubscription)
    assert (_codes(check), check.exercised) == (codes, 1)


# --- retry letters ----------------------------------------------------------------------------------------------------


def _sent_round(batch: int | None = None) -> _Letters:
    story = _Letters(retry_letters=True, batch=batch)
    story.comes(0)
    story.invoke("reconsume_later", CONSUMER, args={"messages": [1], "delay_ms": DELAY_MS})
    story.opens("RETRY")
    return story


def _retry_letter(due_ms: int | None = DELAY_MS, **letter: str) -> Check:
    story = _sent_round()
    call = next(event for event in story.events if isinstance(event, Invoke) and event.verb == "reconsume_later")
    due_ms = None if due_ms is None else due_ms + round(call.t_ns / 1e6)
    told = {"RECONSUMETIMES": "1", "DELAY_TIME": str(DELAY_MS), **letter}
    story.posts(letter=told, deliver_at_ms=due_ms)
    return story.judged(WholeRetryLetter)


def test_retry_letter_with_its_delay_is_accepted() -> None:
    check = _retry_letter()
    assert (check.findings, check.exercised) == ([], 1)


@pytest.mark.parametrize(("delay_ms", "codes"), [(DELAY_MS, []), (0, []), (1, ["other-delay", "other-time"])])
def test_message_sent_round_twice_may_go_by_either_call(delay_ms: int, codes: list[str]) -> None:
    story = _sent_round()
    story.invoke("reconsume_later", CONSUMER, args={"messages": [1], "delay_ms": 0})
    story.after(2_000)
    due_ms = delay_ms + round(story.events[-1].t_ns / 1e6) if delay_ms != 1 else 1_000_000
    story.posts(letter={"RECONSUMETIMES": "1", "DELAY_TIME": str(delay_ms)}, deliver_at_ms=due_ms)
    assert _codes(story.judged(WholeRetryLetter)) == codes


def _sent_round_again(batch: int | None = None) -> tuple[_Letters, dict[str, str]]:
    """The copy came, and is to go round as well; and what its letter of the first round told."""
    story = _sent_round(batch)
    told = {"RECONSUMETIMES": "1", "DELAY_TIME": str(DELAY_MS)}
    origin = {"REAL_TOPIC": story.full("t"), "ORIGIN_MESSAGE_ID": "(1,0,-1,-1)"}
    story.posts(letter=told, deliver_at_ms=DELAY_MS)
    story.stored(1, handle=STORED, meta=Meta(producer_name="letters", sequence_id=0, letter={**origin, **told}))
    story.message(1, handle=STORED)
    story.received(1, handle=STORED)
    story.invoke("reconsume_later", CONSUMER, args={"messages": [2], "delay_ms": DELAY_MS})
    return story, told


def test_letter_of_the_first_round_in_place_of_the_seconds_is_found() -> None:
    story, told = _sent_round_again()
    story.posts(number=1, letter=told, deliver_at_ms=DELAY_MS)
    assert "rounds-miscounted" in _codes(story.judged(WholeRetryLetter))


def test_letter_of_the_first_round_may_come_again_on_another_connection() -> None:
    story, told = _sent_round_again()
    story.cut()
    story.connected(1)
    story.producer_ready(1, producer_id=5, topic=f"{story.full('t')}-s-RETRY", name="letters", epoch=1)
    story.posts(conn=1, letter=told, deliver_at_ms=DELAY_MS)
    assert _codes(story.judged(WholeRetryLetter)) == []


def test_other_messages_of_a_batch_are_of_a_round_of_their_own() -> None:
    story, told = _sent_round_again(batch=2)
    story.posts(number=1, letter=told, deliver_at_ms=DELAY_MS)
    assert _codes(story.judged(WholeRetryLetter)) == []


def test_letter_of_another_message_of_a_batch_is_not_taken_for_ones_own() -> None:
    """Both tell the same origin: their entry."""
    story, told = _sent_round_again(batch=2)
    story.posts(number=1, letter=told)
    story.receipt(1, producer_id=5)
    story.posts(number=2, letter=told)
    story.down("SEND_ERROR", producer_id=5, sequence_id=2, fields={"error": "NotAllowedError"})
    story.ack_frame(1)
    assert _codes(story.judged(RetriedThenAcked)) == []


@pytest.mark.parametrize(
    ("told", "code"),
    [
        ({"RECONSUMETIMES": "0"}, "rounds-miscounted"),
        ({"DELAY_TIME": "1"}, "other-delay"),
        ({"due_ms": 0}, "other-time"),
        ({"due_ms": None}, "other-time"),
    ],
    ids=str,
)
def test_retry_letter_that_says_something_else_is_found(told: dict[str, Any], code: str) -> None:
    assert _codes(_retry_letter(**told)) == [code]


def test_message_sent_round_goes_with_its_letters_receipt() -> None:
    story = _sent_round()
    story.posts()
    story.receipt(0, producer_id=5)
    story.acks()
    check = story.judged(RetriedThenAcked)
    assert (check.findings, check.exercised) == ([], 1)


def test_message_sent_round_and_acknowledged_too_early_is_found() -> None:
    story = _sent_round()
    story.acks()
    story.posts()
    assert _codes(story.judged(RetriedThenAcked)) == ["acked-first"]


def test_messages_of_a_batch_are_counted_each_by_its_own_rounds() -> None:
    story, _ = _sent_round_again(batch=2)
    story.message(0, handle=STORED)
    story.received(0, handle=STORED)
    story.invoke("reconsume_later", CONSUMER, args={"messages": [3], "delay_ms": DELAY_MS})
    story.producer_ready(producer_id=5, topic=f"{story.full('t')}-s-DLQ", name="dead")
    story.posts(number=2)
    assert _codes(story.judged(CountsToItsMaximum)) == []
