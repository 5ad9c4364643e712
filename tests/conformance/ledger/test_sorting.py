"""What in a history was torn on its way, by which side had sent it."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from assay_conformance.history.script import CASE_NUMBER, NAME, PRODUCER, Script
from assay_conformance.ledger.from_history.sorting import Sorted
from assay_conformance.model.event import Fate, Identity, Meta

TEARS = (Fate.DROPPED, Fate.ALTERED, Fate.INJECTED, Fate.HELD, Fate.DUPLICATED)


def a_send(s: Script, fate: Fate) -> None:
    s.producer()
    s.send_frame(0, fate=fate)


def a_message(s: Script, fate: Fate) -> None:
    s.consumer()
    s.message(0, fate=fate)


def an_answer(s: Script, fate: Fate) -> None:
    s.producer()
    s.receipt(0, fate=fate)


@pytest.mark.parametrize("fate", TEARS)
@pytest.mark.parametrize(
    ("frame", "torn", "sends"), [(a_send, True, True), (a_message, True, False), (an_answer, False, False)]
)
def test_sends_are_torn_by_what_was_done_to_a_send(
    frame: Callable[[Script, Fate], None], torn: bool, sends: bool, fate: Fate
) -> None:
    script = Script()
    frame(script, fate)
    found = Sorted(script.done())
    assert (found.torn, found.torn_sends) == (torn, sends)


@pytest.mark.parametrize(("intact", "forged"), [(True, True), (False, False)])
def test_a_send_that_goes_on_with_what_nobody_meant_is_forged(intact: bool, forged: bool) -> None:
    """One that a broker can tell to be spoilt is refused, and has no receipt."""
    script = Script()
    script.producer()
    script.send_frame(0, fate=Fate.ALTERED, intact=intact)
    found = Sorted(script.done())
    assert found.forgeries.concerned(found.invokes, found.local, "t") == ({PRODUCER} if forged else set())


@pytest.mark.parametrize("fate", [Fate.PASSED, Fate.CUT])
def test_a_send_that_passed_or_ended_with_its_connection_is_whole(fate: Fate) -> None:
    script = Script()
    a_send(script, fate)
    assert not Sorted(script.done()).torn_sends


def _in_chunks(fate: Fate, receipt: Fate = Fate.PASSED) -> Script:
    """Message 0 in two chunks: what becomes of the first one's SEND, and of its receipt. Message 1 goes through."""
    script = Script()
    script.producer()
    for number, its in ((0, fate), (1, Fate.PASSED)):
        chunk = Meta(producer_name=NAME, sequence_id=number, uuid=f"p-{number}", chunk_id=0, chunks=2)
        first, last = chunk, msgspec.structs.replace(chunk, chunk_id=1)
        script.send_frame(number, meta=first, members=(), fate=its)
        script.send_frame(number, meta=last)
    script.receipt(0, fate=receipt)
    return script


@pytest.mark.parametrize("fate", TEARS)
def test_a_message_one_chunk_of_which_was_torn_is_known(fate: Fate) -> None:
    assert Sorted(_in_chunks(fate).done()).torn_chunks == {Identity(CASE_NUMBER, PRODUCER, 0)}


def test_so_is_one_the_receipt_of_a_chunk_of_which_came_twice() -> None:
    assert Sorted(_in_chunks(Fate.PASSED, Fate.DUPLICATED).done()).torn_chunks == {Identity(CASE_NUMBER, PRODUCER, 0)}


def test_chunks_that_passed_are_whole() -> None:
    assert Sorted(_in_chunks(Fate.PASSED, Fate.DROPPED).done()).torn_chunks == set()


@pytest.mark.parametrize(("released", "torn"), [((0, 1), False), ((1, 0), True)])
def test_chunks_that_were_all_held_are_torn_if_a_later_one_leaves_first(released: tuple[int, int], torn: bool) -> None:
    script = Script()
    script.producer()
    first = Meta(producer_name=NAME, sequence_id=0, uuid="p-0", chunk_id=0, chunks=2)
    chunks = (first, msgspec.structs.replace(first, chunk_id=1))
    held = [script.send_frame(0, meta=chunk, fate=Fate.HELD) for chunk in chunks]
    for number in released:
        script.send_frame(0, meta=chunks[number], fate=Fate.RELEASED, frame=held[number].frame)
    assert bool(Sorted(script.done()).torn_uuids) == torn
