"""The check of `chunking.incomplete-messages-bounded`, both ways, on histories of a few lines."""

from __future__ import annotations

import pytest
from tests.conformance.pulsar.chunking._chunked import Story
from tests.conformance.pulsar.chunking._keeping import client, delivered_before

from assay_conformance.checks.base import Check
from assay_conformance.pulsar.checks.chunking.expires_incomplete import expires_incomplete
from assay_conformance.pulsar.checks.chunking.incomplete_messages_bounded import incomplete_messages_bounded
from assay_conformance.pulsar.checks.chunking.missing_chunk_discards_message import missing_chunk_discards_message
from assay_conformance.pulsar.checks.chunking.repeated_chunk_dropped import repeated_chunk_dropped
from assay_conformance.pulsar.checks.chunking.restarts_at_first_chunk import restarts_at_first_chunk


def one_too_many() -> Story:
    """The consumer keeps two."""
    story = Story()
    for number in range(3):
        story.arrives(0, number, number)
    return story


def test_oldest_of_too_many_is_left() -> None:
    story = one_too_many()
    story.after(300)
    assert story.judged(incomplete_messages_bounded) == ([], 1)


def test_oldest_that_is_acknowledged_unasked_is_found() -> None:
    story = one_too_many()
    story.ack_frame(0, conn=9)
    assert story.judged(incomplete_messages_bounded)[0] == ["dropped-acked"]


def test_oldest_that_is_to_be_acknowledged_and_is_not_is_found() -> None:
    story = one_too_many()
    story.after(300)
    assert story.judged(incomplete_messages_bounded, client(auto_ack_oldest_chunked=True))[0] == ["dropped-not-acked"]


def test_oldest_that_is_to_be_acknowledged() -> None:
    story = one_too_many()
    story.ack_frame(0, conn=9)
    assert story.judged(incomplete_messages_bounded, client(auto_ack_oldest_chunked=True)) == ([], 1)


def test_message_kept_beyond_the_limit_is_found() -> None:
    story = one_too_many()
    story.arrives(1, 3)
    story.arrives(2, 4)
    story.gets(4)
    assert story.judged(incomplete_messages_bounded)[0] == ["kept-beyond-limit"]


def test_message_that_was_whole_when_there_was_no_room_may_be_handed_over_when_it_comes_again() -> None:
    story = one_too_many()
    story.arrives(1, 3)
    story.arrives(2, 4)
    for chunk, entry in enumerate((0, 3, 4)):
        story.arrives(chunk, entry)
    story.gets(4)
    assert story.judged(incomplete_messages_bounded)[0] == []


def test_dropped_message_that_comes_again_may_be_handed_over() -> None:
    story = one_too_many()
    for chunk, entry in enumerate((0, 3, 4)):
        story.arrives(chunk, entry)
    story.gets(4)
    assert story.judged(incomplete_messages_bounded)[0] == []


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
    assert story.judged(incomplete_messages_bounded)[0] == codes


def test_message_of_which_a_later_chunk_comes_twice_need_not_be_held_beside_older_ones() -> None:
    story = Story()
    first_chunks(story, 0, 1)
    story.arrives(1, 5, 1)
    story.arrives(1, 6, 1)
    first_chunks(story, 2)
    rest_of_the_first(story)
    assert story.judged(incomplete_messages_bounded)[0] == []


def test_message_begun_twice_is_dropped_itself_for_enough_others() -> None:
    story = Story()
    first_chunks(story, 0, 0, 1, 2)
    rest_of_the_first(story)
    assert story.judged(incomplete_messages_bounded)[0] == ["kept-beyond-limit"]


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
    assert story.judged(incomplete_messages_bounded)[0] == codes


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
    assert story.judged(incomplete_messages_bounded)[0] == ["kept-beyond-limit"]


@pytest.mark.parametrize(
    "check",
    [
        incomplete_messages_bounded,
        expires_incomplete,
        missing_chunk_discards_message,
        repeated_chunk_dropped,
        restarts_at_first_chunk,
    ],
)
@pytest.mark.parametrize("again", [(1, 2), (0,), (0, 0), (0, 1, 1), (0, 1)])
def test_ack_of_an_older_delivery_settles_what_comes_again(check: type[Check], again: tuple[int, ...]) -> None:
    story = delivered_before(*again)
    story.ack(1)
    story.ack_frame(0, 1, 2, conn=9)
    assert story.judged(check)[0] == []
