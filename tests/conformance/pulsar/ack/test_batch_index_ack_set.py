"""The check of `ack.batch-index-ack-set`, both ways, on histories of a few lines."""

from __future__ import annotations

import msgspec
import pytest
from msgspec.structs import astuple
from tests.conformance.pulsar._consuming import Consuming
from tests.conformance.pulsar.ack._indexes import by_index

from assay_conformance.checks.base import Check
from assay_conformance.checks.trial import ANY_CASE, trial
from assay_conformance.history.script import CONSUMER, entry_id
from assay_conformance.model.case import Topic, Topology
from assay_conformance.pulsar.checks.ack.batch_index_ack_set import batch_index_ack_set
from assay_conformance.pulsar.checks.ack.whole_batch_only import whole_batch_only


def test_ack_set_with_the_open_bits_is_right() -> None:
    story = by_index()
    story.ack(1, 3)
    story.after(90)
    story.ack_frame(0, ack_sets=((0b1010,),))
    assert story.judged(batch_index_ack_set) == ([], 1)


def test_bit_that_an_earlier_ack_cleared_may_be_set_in_the_next() -> None:
    """As in that of an older delivery, which knows nothing of what became of the newer one."""
    story = by_index()
    story.ack(1, 3)
    story.after(90)
    story.ack_frame(0, ack_sets=((0b1010,),))
    story.ack(2)
    story.after(290)
    story.ack_frame(0, ack_sets=((0b1101,),))
    assert story.judged(batch_index_ack_set)[0] == []


def test_whole_batch_without_ack_set_is_right() -> None:
    story = by_index()
    story.ack(1, 2, 3, 4)
    story.after(90)
    story.ack_frame(0)
    assert story.judged(batch_index_ack_set) == ([], 1)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("open-message-acked", (0b1000,)),
        ("open-message-acked", (0b0101,)),
        ("open-message-acked", ()),
        ("acked-message-open", (0b1011,)),
    ],
)
def test_ack_set_with_other_bits_is_found(code: str, words: tuple[int, ...]) -> None:
    story = by_index()
    story.ack(1, 3)
    story.after(250)
    story.ack_frame(0, ack_sets=(words,))
    assert story.judged(batch_index_ack_set)[0] == [code]


def test_ack_set_without_any_bit_is_found() -> None:
    story = by_index()
    story.ack(1, 2, 3, 4)
    story.ack_frame(0, ack_sets=((0,),))
    assert story.judged(batch_index_ack_set)[0] == ["ack-set-of-nothing"]


def up_to_second() -> Consuming:
    """The application has settled messages 0 and 1 of four at once, long ago."""
    story = Consuming(kind="Exclusive", batch_index_ack=True)
    story.gets_batch(0, 4)
    story.ack(2, cumulative=True)
    story.after(250)
    return story


def test_cumulative_ack_set_without_the_bits_up_to_its_message_is_right() -> None:
    story = up_to_second()
    story.cumulative_frame(0, ack_sets=((0b1100,),))
    assert story.judged(batch_index_ack_set) == ([], 1)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("acked-message-open", (0b1101,)),
        ("acked-message-open", (0b1111,)),
        ("open-message-acked", (0b1000,)),
        ("open-message-acked", ()),
    ],
)
def test_cumulative_ack_set_with_other_bits_is_found(code: str, words: tuple[int, ...]) -> None:
    story = up_to_second()
    story.cumulative_frame(0, ack_sets=(words,))
    assert story.judged(batch_index_ack_set)[0] == [code]


def test_cumulative_ack_inside_a_batch_that_never_leaves_is_found() -> None:
    story = up_to_second()
    story.close_consumer()
    assert story.judged(batch_index_ack_set)[0] == ["never-acked"]


def test_cumulative_ack_of_a_later_entry_settles_the_batch() -> None:
    story = up_to_second()
    story.gets(1)
    story.ack(5, cumulative=True)
    story.cumulative_frame(1)
    story.after(250)
    story.close_consumer()
    assert story.judged(batch_index_ack_set)[0] == []


def test_message_acked_just_now_may_still_be_open() -> None:
    story = by_index()
    story.ack(1)
    story.after(90)
    story.ack(2)
    story.ack_frame(0, ack_sets=((0b1110,),))
    assert story.judged(batch_index_ack_set) == ([], 1)


def test_message_that_is_never_acked_by_index_is_found() -> None:
    story = by_index()
    story.ack(1)
    story.after(250)
    story.close_consumer()
    assert story.judged(batch_index_ack_set)[0] == ["never-acked"]


def test_batch_that_comes_again_begins_anew() -> None:
    story = by_index()
    story.ack(1)
    story.gets_batch(0, 4)
    story.ack(6)
    story.after(250)
    story.ack_frame(0, ack_sets=((0b1101,),))
    assert story.judged(batch_index_ack_set) == ([], 1)


def test_of_two_copies_the_client_may_leave_the_other_ones_message_open() -> None:
    story = Consuming(batch_index_ack=True)
    for _ in range(2):
        story.message(0, 1, entry=0, batch=True)
    for index in (0, 1, 0, 1):
        story.member(0, index, 2)
    story.ack(3)
    story.after(250)
    story.ack(2)
    story.ack_frame(0, ack_sets=((0b01,),))
    assert story.judged(batch_index_ack_set)[0] == []


@pytest.mark.parametrize(("words", "codes"), [((0b1100,), []), ((0b1000,), ["open-message-acked"])])
def test_what_a_seek_passes_over_may_be_acked_and_no_more(words: tuple[int, ...], codes: list[str]) -> None:
    story = by_index()
    story.invoke("seek", CONSUMER, args={"message_id": list(astuple(entry_id(0, 1, 4)))})
    story.ack_frame(0, ack_sets=(words,))
    assert story.judged(batch_index_ack_set)[0] == codes


@pytest.mark.parametrize(
    ("check", "by_index"), [(batch_index_ack_set, True), (whole_batch_only, False)], ids=["by index", "as a whole"]
)
@pytest.mark.parametrize(("persistent", "codes"), [(True, ["never-acked"]), (False, [])])
def test_batch_of_a_topic_that_stores_nothing_need_not_be_acked(
    check: type[Check], by_index: bool, persistent: bool, codes: list[str]
) -> None:
    story = Consuming(batch_index_ack=by_index)
    story.gets_batch(0, 2)
    story.ack(1, 2)
    story.after(300)
    story.close_consumer()
    case = msgspec.structs.replace(ANY_CASE, topology=Topology(topics=(Topic(name="t", persistent=persistent),)))
    assert [one.code for one in trial(check, story.done(), case, story.facts).findings] == codes
