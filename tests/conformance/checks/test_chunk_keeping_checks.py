"""Chunks that are kept and given up, both ways, on histories of a few lines."""

from __future__ import annotations

import msgspec
import pytest
from tests.conformance.checks.chunk_story import CLIENT, Story

from assay_conformance.checks.base import Check
from assay_conformance.checks.chunking.dropping import BoundedBuffer, GapDiscards, RestartsAtFirstChunk
from assay_conformance.checks.chunking.expiry import Expires
from assay_conformance.checks.chunking.keeping import AcksEveryChunk, AssembledByUuid
from assay_conformance.checks.chunking.repeated import RepeatedChunk
from assay_conformance.history.script import entry_id
from assay_conformance.model.facts import ClientFacts


def client(**fixed: int | bool) -> ClientFacts:
    return msgspec.structs.replace(CLIENT, fixed={**CLIENT.fixed, **fixed})


# --- by turns ---------------------------------------------------------------------------------------------------------


def by_turns() -> Story:
    story = Story()
    for entry, (number, chunk) in enumerate([(0, 0), (1, 0), (0, 1), (1, 1), (1, 2), (0, 2)]):
        story.arrives(chunk, entry, number)
    return story


def test_messages_by_turns_are_handed_over() -> None:
    story = by_turns()
    story.gets(4, 1)
    story.gets(5, 0)
    assert story.judged(AssembledByUuid) == ([], 2)


def test_message_by_turns_that_is_withheld_is_found() -> None:
    story = by_turns()
    story.gets(4, 1)
    story.after(600)
    story.receive(1, 0)
    assert story.judged(AssembledByUuid)[0] == ["not-delivered"]


def test_messages_that_are_mixed_up_are_found() -> None:
    story = by_turns()
    story.gets(4, 1, digest=1)
    assert story.judged(AssembledByUuid)[0] == ["wrong-content"]


def test_message_alone_shows_nothing_of_turns() -> None:
    story = Story()
    for chunk in range(3):
        story.arrives(chunk, chunk)
    story.gets(2)
    assert story.judged(AssembledByUuid) == ([], 0)


# --- settled ----------------------------------------------------------------------------------------------------------


def acknowledged() -> Story:
    story = Story()
    for chunk in range(3):
        story.arrives(chunk, chunk)
    story.gets(2)
    story.ack(1)
    return story


def test_every_chunk_is_acknowledged() -> None:
    story = acknowledged()
    story.ack_frame(0, 1, 2, conn=9)
    story.after(300)
    assert story.judged(AcksEveryChunk) == ([], 1)


def test_last_chunk_cumulatively_is_every_chunk() -> None:
    story = acknowledged()
    story.ack_frame(2, conn=9, ack_type="Cumulative")
    assert story.judged(AcksEveryChunk) == ([], 1)


def test_chunk_that_is_not_acknowledged_is_found() -> None:
    story = acknowledged()
    story.ack_frame(2, conn=9)
    story.after(300)
    assert story.judged(AcksEveryChunk)[0] == ["chunk-not-acked"]


def test_ack_of_one_chunks_batch_index_is_no_ack_of_the_chunk() -> None:
    story = acknowledged()
    story.ack_frame(entry_id(0), entry_id(1), entry_id(2), conn=9, ack_sets=((1,), (), ()))
    story.after(300)
    assert story.judged(AcksEveryChunk)[0] == ["chunk-not-acked"]


# --- one too many -----------------------------------------------------------------------------------------------------


def one_too_many() -> Story:
    """The consumer keeps two."""
    story = Story()
    for number in range(3):
        story.arrives(0, number, number)
    return story


def test_oldest_of_too_many_is_left() -> None:
    story = one_too_many()
    story.after(300)
    assert story.judged(BoundedBuffer) == ([], 1)


def test_oldest_that_is_acknowledged_unasked_is_found() -> None:
    story = one_too_many()
    story.ack_frame(0, conn=9)
    assert story.judged(BoundedBuffer)[0] == ["dropped-acked"]


def test_oldest_that_is_to_be_acknowledged_and_is_not_is_found() -> None:
    story = one_too_many()
    story.after(300)
    assert story.judged(BoundedBuffer, client(auto_ack_oldest_chunked=True))[0] == ["dropped-not-acked"]


def test_oldest_that_is_to_be_acknowledged() -> None:
    story = one_too_many()
    story.ack_frame(0, conn=9)
    assert story.judged(BoundedBuffer, client(auto_ack_oldest_chunked=True)) == ([], 1)


def test_message_kept_beyond_the_limit_is_found() -> None:
    story = one_too_many()
    story.arrives(1, 3)
    story.arrives(2, 4)
    story.gets(4)
    assert story.judged(BoundedBuffer)[0] == ["kept-beyond-limit"]


def test_message_that_was_whole_when_there_was_no_room_may_be_handed_over_when_it_comes_again() -> None:
    story = one_too_many()
    story.arrives(1, 3)
    story.arrives(2, 4)
    for chunk, entry in enumerate((0, 3, 4)):
        story.arrives(chunk, entry)
    story.gets(4)
    assert story.judged(BoundedBuffer)[0] == []


def test_dropped_message_that_comes_again_may_be_handed_over() -> None:
    story = one_too_many()
    for chunk, entry in enumerate((0, 3, 4)):
        story.arrives(chunk, entry)
    story.gets(4)
    assert story.judged(BoundedBuffer)[0] == []


def first_chunks(story: Story, *numbers: int, conn: int = 9) -> None:
    for number in numbers:
        story.arrives(0, number, number, conn=conn)


def rest_of_the_first(story: Story, conn: int = 9) -> None:
    story.arrives(1, 10, conn=conn)
    story.arrives(2, 11, conn=conn)
    story.gets(11)


@pytest.mark.parametrize(
    ("others", "codes"),
    [((1, 1, 2), []), ((1, 1, 2, 3), ["kept-beyond-limit"]), ((1, 2, 2), ["kept-beyond-limit"])],
    ids=["one may be gone", "too many besides", "gone too late"],
)
def test_message_begun_twice_need_not_be_held_beside_older_ones(others: tuple[int, ...], codes: list[str]) -> None:
    story = Story()
    first_chunks(story, 0, *others)
    rest_of_the_first(story)
    assert story.judged(BoundedBuffer)[0] == codes


def test_message_of_which_a_later_chunk_comes_twice_need_not_be_held_beside_older_ones() -> None:
    story = Story()
    first_chunks(story, 0, 1)
    story.arrives(1, 5, 1)
    story.arrives(1, 6, 1)
    first_chunks(story, 2)
    rest_of_the_first(story)
    assert story.judged(BoundedBuffer)[0] == []


def test_message_begun_twice_is_dropped_itself_for_enough_others() -> None:
    story = Story()
    first_chunks(story, 0, 0, 1, 2)
    rest_of_the_first(story)
    assert story.judged(BoundedBuffer)[0] == ["kept-beyond-limit"]


@pytest.mark.parametrize(
    ("before", "codes"),
    [((1,), []), ((), ["kept-beyond-limit"])],
    ids=["incomplete on both", "begun once"],
)
def test_message_begun_on_two_connections_need_not_be_held_beside_older_ones(
    before: tuple[int, ...], codes: list[str]
) -> None:
    story = Story()
    first_chunks(story, *before)
    story.cut(9)
    story.connected(10)
    story.subscribed(10)
    story.flow(1000, conn=10)
    first_chunks(story, 0, 1, 2, conn=10)
    rest_of_the_first(story, conn=10)
    assert story.judged(BoundedBuffer)[0] == codes


def test_message_that_was_whole_on_an_earlier_connection_counts_on_the_next() -> None:
    story = Story()
    first_chunks(story, 1)
    story.arrives(1, 5, 1)
    story.arrives(2, 6, 1)
    story.cut(9)
    story.connected(10)
    story.subscribed(10)
    story.flow(1000, conn=10)
    first_chunks(story, 0, 1, 2, conn=10)
    rest_of_the_first(story, conn=10)
    assert story.judged(BoundedBuffer)[0] == ["kept-beyond-limit"]


# --- begun anew -------------------------------------------------------------------------------------------------------


def begun_anew(*again: int) -> Story:
    """Chunks 0 and 1 as entries 0 and 1, then the whole message as these entries."""
    story = Story()
    story.arrives(0, 0)
    story.arrives(1, 1)
    for chunk, entry in enumerate(again):
        story.arrives(chunk, entry)
    return story


def test_message_begun_anew_is_handed_over_and_the_old_chunks_acknowledged() -> None:
    story = begun_anew(2, 3, 4)
    story.ack_frame(0, 1, conn=9)
    story.gets(4)
    story.after(300)
    assert story.judged(RestartsAtFirstChunk) == ([], 2)


def test_old_chunks_that_are_left_are_found() -> None:
    story = begun_anew(2, 3, 4)
    story.gets(4)
    story.after(300)
    assert story.judged(RestartsAtFirstChunk)[0] == ["old-not-acked"]


@pytest.mark.parametrize(("came_ms", "codes"), [(290, ["old-not-acked"]), (350, [])])
def test_chunk_that_comes_when_its_message_has_expired_is_not_among_the_old_ones(
    came_ms: int, codes: list[str]
) -> None:
    story = Story()
    story.arrives(0, 0)
    story.at(came_ms)
    story.arrives(1, 1)
    story.arrives(0, 2)
    story.ack_frame(0, conn=9)
    story.after(300)
    judged = story.judged(RestartsAtFirstChunk, client(expire_incomplete_chunked_ms=300))
    assert judged[0] == codes


def test_chunks_redelivered_before_their_message_began_anew_are_acknowledged_with_the_old_ones() -> None:
    story = begun_anew(0, 1)
    story.arrives(0, 2)
    story.ack_frame(0, 1, conn=9)
    story.after(300)
    assert story.judged(RestartsAtFirstChunk)[0] == []


@pytest.mark.parametrize(("acked_ms", "codes"), [(299, ["redelivered-acked"]), (300, [])])
def test_redelivered_chunks_that_are_incomplete_for_too_long_may_be_acknowledged(
    acked_ms: int, codes: list[str]
) -> None:
    story = begun_anew(0)
    story.at(acked_ms).ack_frame(0, conn=9)
    assert story.judged(RestartsAtFirstChunk, client(expire_incomplete_chunked_ms=300))[0] == codes


def test_redelivered_chunks_that_are_acknowledged_are_found() -> None:
    story = begun_anew(0)
    story.ack_frame(0, conn=9)
    assert story.judged(RestartsAtFirstChunk)[0] == ["redelivered-acked"]


def test_redelivered_message_may_be_acknowledged_when_it_is_whole() -> None:
    story = begun_anew(0, 1, 2)
    story.gets(2)
    story.ack(1)
    story.ack_frame(0, 1, 2, conn=9)
    assert story.judged(RestartsAtFirstChunk)[0] == []


def test_chunks_let_go_when_everything_is_asked_for_again_are_not_missed() -> None:
    """Entries 0 and 1 are the same chunk, sent twice: which of them begins the message depends on what is held."""
    story = Story()
    story.arrives(0, 1)
    story.redeliver_frame(conn=9)
    story.arrives(0, 0)
    story.after(300)
    assert story.judged(RestartsAtFirstChunk)[0] == []


def test_message_begun_anew_that_is_withheld_is_found() -> None:
    story = begun_anew(2, 3, 4)
    story.ack_frame(0, 1, conn=9)
    story.after(600)
    story.receive(1, 0)
    assert story.judged(RestartsAtFirstChunk)[0] == ["not-delivered"]


def test_message_that_was_dropped_for_others_does_not_begin_anew() -> None:
    story = Story()
    story.arrives(0, 0)
    for number in (1, 2):
        story.arrives(0, number, number)
    story.arrives(0, 3)
    story.after(300)
    story.close_consumer()
    assert story.judged(RestartsAtFirstChunk, client(auto_ack_oldest_chunked=False))[0] == []


# --- gaps -------------------------------------------------------------------------------------------------------------


def with_gap() -> Story:
    story = Story()
    story.arrives(0, 0)
    story.arrives(2, 1)
    return story


def test_chunks_around_a_gap_are_left() -> None:
    assert with_gap().judged(GapDiscards) == ([], 1)


def test_chunk_behind_a_gap_that_is_acknowledged_is_found() -> None:
    story = with_gap()
    story.ack_frame(1, conn=9)
    assert story.judged(GapDiscards, client(expire_incomplete_chunked_ms=0))[0] == ["gap-acked"]


def test_gap_in_a_message_that_expired_may_be_acknowledged() -> None:
    story = Story()
    story.at(2_000)
    story.arrives(0, 0)
    story.arrives(2, 1)
    story.ack_frame(1, conn=9)
    assert story.judged(GapDiscards, client(expire_incomplete_chunked_ms=1_000)) == ([], 0)


def test_chunk_that_comes_again_in_order_may_be_acknowledged() -> None:
    story = with_gap()
    for chunk, entry in enumerate((0, 2, 1)):
        story.arrives(chunk, entry)
    story.ack_frame(0, 2, 1, conn=9)
    assert story.judged(GapDiscards, client(expire_incomplete_chunked_ms=0))[0] == []


def delivered_before(*again: int) -> Story:
    """A whole message was handed over as entries 0 to 2; these of its chunks come once more."""
    story = Story()
    for chunk in (0, 1, 2, *again):
        story.arrives(chunk, chunk)
    story.gets(2)
    return story


@pytest.mark.parametrize("check", [BoundedBuffer, Expires, GapDiscards, RepeatedChunk, RestartsAtFirstChunk])
@pytest.mark.parametrize("again", [(1, 2), (0,), (0, 0), (0, 1, 1), (0, 1)])
def test_ack_of_an_older_delivery_settles_what_comes_again(check: type[Check], again: tuple[int, ...]) -> None:
    story = delivered_before(*again)
    story.ack(1)
    story.ack_frame(0, 1, 2, conn=9)
    assert story.judged(check)[0] == []


def test_chunks_may_come_again_between_the_call_and_its_ack() -> None:
    story = delivered_before()
    story.ack(1)
    story.arrives(1, 1)
    story.ack_frame(0, 1, 2, conn=9)
    assert story.judged(GapDiscards)[0] == []


# --- expiry -----------------------------------------------------------------------------------------------------------

EXPIRY = client(expire_incomplete_chunked_ms=300)


def incomplete() -> Story:
    story = Story()
    story.arrives(0, 0)
    story.arrives(1, 1)
    return story


def test_incomplete_message_is_acknowledged_when_it_expires() -> None:
    story = incomplete()
    story.after(400)
    story.ack_frame(0, 1, conn=9)
    assert story.judged(Expires, EXPIRY) == ([], 1)


def test_chunk_that_comes_when_its_message_is_given_up_is_left_to_the_broker() -> None:
    story = Story()
    story.arrives(0, 0)
    story.after(350)
    story.ack_frame(0, conn=9)
    story.arrives(1, 1)
    story.after(1_000)
    assert story.judged(Expires, EXPIRY) == ([], 1)


def test_incomplete_message_that_never_expires_is_found() -> None:
    story = incomplete()
    story.after(1_000)
    assert story.judged(Expires, EXPIRY)[0] == ["not-expired"]


def test_incomplete_message_that_expires_early_is_found() -> None:
    story = incomplete()
    story.after(100)
    story.ack_frame(0, 1, conn=9)
    assert "expired-early" in story.judged(Expires, EXPIRY)[0]


def test_message_that_is_completed_does_not_expire() -> None:
    story = incomplete()
    story.arrives(2, 2)
    story.after(1_000)
    assert story.judged(Expires, EXPIRY) == ([], 0)
