"""The check of `delivery.successful-send-is-stored`, both ways, on histories of a few lines."""

from __future__ import annotations

import pytest
from tests.conformance.pulsar.delivery._histories import exchange, judged, one_is_told_and_not_stored, two_messages

from assay_conformance.history.script import DUPLICATE, NAME, PRODUCER, Script, entry_id
from assay_conformance.model.event import AgentEnded, Fate, Meta, Sides
from assay_conformance.pulsar.checks.delivery.successful_send_is_stored import successful_send_is_stored


def test_successful_sends_that_are_stored_are_accepted() -> None:
    assert judged(successful_send_is_stored, two_messages) == ([], 2)


def test_successful_send_that_is_not_stored_is_found() -> None:
    assert judged(successful_send_is_stored, one_is_told_and_not_stored)[0] == ["not-stored"]


@pytest.mark.parametrize(("fate", "codes"), [(Fate.DROPPED, []), (Fate.PASSED, ["not-stored"])])
def test_a_message_that_lacks_a_chunk_which_a_fault_took_is_not_missed(fate: Fate, codes: list[str]) -> None:
    def story(s: Script) -> None:
        exchange(s, 0)
        s.send(1)
        first, last = (Meta(producer_name=NAME, sequence_id=1, uuid="p-1", chunk_id=id, chunks=2) for id in (0, 1))
        s.send_frame(1, meta=first, members=(), fate=fate, sides=Sides.SENDER)
        s.send_frame(1, meta=last)
        s.stored(1, meta=last, members=())
        s.receipt(1)
        s.ok(1)

    assert judged(successful_send_is_stored, story)[0] == codes


@pytest.mark.parametrize(("overtaken", "codes"), [(True, []), (False, ["not-stored"])])
def test_a_chunk_that_is_held_tears_its_message_only_where_another_overtakes_it(
    overtaken: bool, codes: list[str]
) -> None:
    def story(s: Script) -> None:
        exchange(s, 0)
        s.send(1)
        first, middle, last = (
            Meta(producer_name=NAME, sequence_id=1, uuid="p-1", chunk_id=id, chunks=3) for id in range(3)
        )
        s.send_frame(1, meta=first, members=())
        s.send_frame(1, meta=middle, members=(), fate=Fate.HELD, sides=Sides.SENDER)
        conn = 0
        if not overtaken:
            s.closed()
            conn = 1
            s.connected(conn)
            s.producer_again(conn)
        s.send_frame(1, meta=last, conn=conn)
        s.stored(1, meta=last, members=())
        s.receipt(1, conn=conn)
        s.ok(1)

    assert judged(successful_send_is_stored, story)[0] == codes


@pytest.mark.parametrize(("fate", "codes"), [(Fate.DUPLICATED, []), (Fate.PASSED, ["not-stored"])])
def test_two_receipts_of_a_first_chunk_pass_for_that_of_the_last(fate: Fate, codes: list[str]) -> None:
    def story(s: Script) -> None:
        exchange(s, 0)
        s.send(1)
        first = Meta(producer_name=NAME, sequence_id=1, uuid="p-1", chunk_id=0, chunks=2)
        s.send_frame(1, meta=first, members=(), fate=fate)
        for entry in (1, 2):
            s.stored(1, meta=first, members=(), entry=entry)
            s.receipt(1, id=entry_id(entry))
        s.ok(1, message_id=entry_id(2))

    assert judged(successful_send_is_stored, story)[0] == codes


@pytest.mark.parametrize(("fate", "codes"), [(Fate.HELD, []), (Fate.PASSED, ["not-stored"])])
def test_the_receipt_of_what_overtook_a_message_with_its_chosen_id_is_not_its_own(fate: Fate, codes: list[str]) -> None:
    def story(s: Script) -> None:
        s.send(0)
        s.send(1, sequence_id=0)
        s.send_frame(0, fate=fate, sides=Sides.SENDER)
        s.send_frame(1, sequence_id=0)
        s.stored(1)
        s.receipt(0)
        s.ok(0)

    assert judged(successful_send_is_stored, story)[0] == codes


@pytest.mark.parametrize(("chosen", "codes"), [(0, []), (1, ["not-stored"])])
def test_of_an_id_that_was_sent_twice_either_receipt_may_tell(chosen: int, codes: list[str]) -> None:
    def story(s: Script) -> None:
        s.send(0)
        s.send_frame(0)
        s.unknown(0)
        s.stored(0)
        s.send(1, sequence_id=chosen)
        s.receipt(0)
        s.ok(1, message_id=entry_id(0))

    assert judged(successful_send_is_stored, story)[0] == codes


@pytest.mark.parametrize(
    ("other_name", "ends", "codes"),
    [(NAME, "", []), (NAME, "close", ["not-stored"]), (NAME, "kill", ["not-stored"]), ("other", "", ["not-stored"])],
)
def test_an_id_may_be_known_of_a_namesake_that_was_there_beside(other_name: str, ends: str, codes: list[str]) -> None:
    def story(s: Script) -> None:
        if ends == "close":
            s.invoke("close", PRODUCER, args={"handle": PRODUCER})
        elif ends == "kill":
            s.add(AgentEnded, reason="the agent was killed", killed=True)
        s.producer(9, conn=5, producer_id=1, name=other_name)
        s.send(0, handle=9)
        s.ok(0, handle=9, message_id=DUPLICATE)

    assert judged(successful_send_is_stored, story)[0] == codes
