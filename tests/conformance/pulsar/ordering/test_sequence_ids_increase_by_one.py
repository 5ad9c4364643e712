"""The check of `ordering.sequence-ids-increase-by-one`, both ways, on histories of a few lines."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from tests.conformance.pulsar.ordering._histories import three

from assay_conformance.checks.base import Check
from assay_conformance.checks.trial import trial
from assay_conformance.history.script import Script
from assay_conformance.model.event import ErrorClass, Fate, Member
from assay_conformance.pulsar.checks.ordering.sequence_ids_increase_by_one import sequence_ids_increase_by_one


def _ids(*ids: int, **send: int) -> Check:
    story = Script()
    story.producer()
    for number, sequence_id in enumerate(ids):
        story.send(number, **send)
        story.send_frame(number, sequence_id=sequence_id)
    return trial(sequence_ids_increase_by_one, story.done())


def test_ids_in_steps_of_one_are_accepted() -> None:
    check = _ids(5, 6, 7)
    assert (check.findings, check.exercised) == ([], 2)


@pytest.mark.parametrize(("batching", "codes"), [(True, []), (False, ["id-reused"])])
def test_ids_are_sorted_by_key_where_there_are_batches(batching: bool, codes: list[str]) -> None:
    story = Script()
    story.producer(batching=batching, batching_type="key_based")
    for number, sequence_id in enumerate((1, 0)):
        story.send(number)
        story.send_frame(number, sequence_id=sequence_id)
    assert [finding.code for finding in trial(sequence_ids_increase_by_one, story.done()).findings] == codes


def test_skipped_id_is_found() -> None:
    assert [finding.code for finding in _ids(0, 1, 3).findings] == ["id-skipped"]


def test_reused_id_is_found() -> None:
    assert [finding.code for finding in _ids(0, 1, 1).findings] == ["id-reused"]


def test_ids_chosen_by_the_application_are_not_judged() -> None:
    assert _ids(0, 10, 20, sequence_id=1).findings == []


def test_batch_takes_one_id_for_each_message() -> None:
    story = Script()
    story.producer()
    for number in range(4):
        story.send(number)
    story.send_frame(0, 1, 2)
    story.send_frame(3)
    assert trial(sequence_ids_increase_by_one, story.done()).findings == []


def _batches_of_one_id(*ids: int) -> Check:
    """Batches of two messages that carry no ids of their own, as pulsar-rs writes them."""
    story = Script()
    story.producer()
    for place, sequence_id in enumerate(ids):
        numbers = (2 * place, 2 * place + 1)
        for number in numbers:
            story.send(number)
        members = tuple(replace(one, sequence_id=None) for one in Script().send_frame(*numbers).members)
        story.send_frame(*numbers, sequence_id=sequence_id, members=members)
    return trial(sequence_ids_increase_by_one, story.done())


@pytest.mark.parametrize("ids", [(0, 1, 2), (0, 2, 4)])
def test_batch_without_ids_of_its_messages_takes_one_id_or_one_for_each(ids: tuple[int, ...]) -> None:
    check = _batches_of_one_id(*ids)
    assert (check.findings, check.exercised) == ([], 2)


@pytest.mark.parametrize(("first", "codes"), [((0, 1), []), ((0,), ["id-reused"])])
def test_ids_behind_a_batch_that_cannot_be_read_are_not_judged(first: tuple[int, ...], codes: list[str]) -> None:
    story = Script()
    story.producer()
    for number in (*first, 9):
        story.send(number, size=3)
    story.send_frame(*first, sequence_id=1, members=())
    story.send_frame(9, sequence_id=1, members=())
    assert [one.code for one in trial(sequence_ids_increase_by_one, story.done()).findings] == codes


def test_id_of_a_batch_that_is_used_again_is_found() -> None:
    assert [finding.code for finding in _batches_of_one_id(0, 1, 1).findings] == ["id-reused"]
    assert [finding.code for finding in _batches_of_one_id(0, 3).findings] == ["id-skipped"]


def test_ids_of_messages_that_overtook_a_batch_are_not_missing_behind_it() -> None:
    story = Script()
    story.producer()
    for number in range(5):
        story.send(number)
    story.send_frame(1, sequence_id=1)
    story.send_frame(2, sequence_id=2)
    story.send_frame(0, 3, sequence_id=0)
    story.send_frame(4, sequence_id=4)
    assert trial(sequence_ids_increase_by_one, story.done()).findings == []


def _unnumbered(*ids: int, fail: int | None = None, fate: Fate = Fate.PASSED) -> Check:
    """Messages too small for an identity; `fail`: one more is asked for, and fails, before this one."""
    story = Script()
    story.producer()
    for number, sequence_id in enumerate(ids):
        if number == fail:
            story.send(100, size=3)
        story.send(number, size=3)
        members = (Member(size=3, digest=number, identity=None, sequence_id=None),)
        story.send_frame(number, sequence_id=sequence_id, members=members, unit=number, size=3, fate=fate)
        story.receipt(sequence_id)
        story.ok(number)
    return trial(sequence_ids_increase_by_one, story.done())


@pytest.mark.parametrize(
    ("ids", "codes"),
    [((5, 6, 7), []), ((0, 0, 1), ["id-reused"]), ((5, 4), ["id-reused"]), ((0, 7), ["id-skipped"])],
)
def test_ids_of_messages_without_identity_are_judged_by_the_order_they_left_in(
    ids: tuple[int, ...], codes: list[str]
) -> None:
    assert [finding.code for finding in _unnumbered(*ids).findings] == codes


def test_a_message_without_identity_that_never_left_may_have_taken_an_id() -> None:
    assert _unnumbered(0, 2, fail=1).findings == []


def test_ids_of_messages_without_identity_are_not_judged_where_a_fault_repeated_a_send() -> None:
    assert _unnumbered(0, 0, fate=Fate.DUPLICATED).findings == []


def test_message_that_never_left_may_have_taken_an_id() -> None:
    for next_id in (1, 2):
        story = Script()
        story.producer()
        for number in range(3):
            story.send(number)
        story.send_frame(0)
        story.fail(1, ErrorClass.TOO_LARGE)
        story.send_frame(2, sequence_id=next_id)
        assert trial(sequence_ids_increase_by_one, story.done()).findings == []


def test_resend_is_no_reuse() -> None:
    story = Script()
    three(story)
    story.cut()
    story.producer_again(1)
    story.send_frame(1, conn=1)
    story.send_frame(2, conn=1)
    assert trial(sequence_ids_increase_by_one, story.done()).findings == []


def test_id_taken_by_another_copy_leaves_no_gap() -> None:
    story = Script()
    three(story)
    story.send_frame(2, sequence_id=3)
    story.send(3)
    story.send_frame(3, sequence_id=4)
    assert trial(sequence_ids_increase_by_one, story.done()).findings == []
