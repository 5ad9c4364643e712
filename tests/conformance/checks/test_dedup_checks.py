from typing import Any

import msgspec

from assay_conformance.checks.dedup import (
    DuplicateReceiptCompletes,
    EffectivelyOnce,
    KeepsOwnNumbering,
    ResumesAfterLastId,
)
from assay_conformance.checks.dedup_broker import DuplicateNotStored, TellsLastId, UndecidedCopyIsRefused
from assay_conformance.checks.trial import ANY_CASE, trial
from assay_conformance.history.script import DUPLICATE, NAME, Script
from assay_conformance.model.case import Step, Topic, Topology, Who
from assay_conformance.model.event import ErrorClass, Meta
from assay_conformance.model.fault import AtTime, Fault
from assay_conformance.model.outside import Kill

CASE = msgspec.structs.replace(ANY_CASE, topology=Topology(topics=(Topic(name="t", deduplication=True),)))


def _codes(check: object) -> list[str]:
    return [finding.code for finding in check.findings]  # type: ignore[attr-defined]


def _lost_receipt(count: int = 1) -> Script:
    """Stored, receipt lost, and sent again."""
    story = Script()
    story.producer(producer_name="p")
    for number in range(count):
        story.send(number)
        story.send_frame(number)
        story.stored(number)
    story.cut()
    story.producer_again(1, last_sequence_id=count - 1)
    for number in range(count):
        story.send_frame(number, conn=1)
    return story


# --- duplicate-not-stored ---------------------------------------------------------------------------------------------


def test_duplicate_answered_without_id_is_accepted() -> None:
    story = _lost_receipt()
    story.receipt(0, conn=1, id=DUPLICATE)
    check = trial(DuplicateNotStored, story.done(), CASE)
    assert (check.findings, check.exercised) == ([], 1)


def test_duplicate_stored_again_is_found() -> None:
    story = _lost_receipt()
    story.stored(0)
    story.receipt(0, conn=1, id=DUPLICATE)
    assert _codes(trial(DuplicateNotStored, story.done(), CASE)) == ["duplicate-stored"]


def test_duplicate_answered_as_new_is_found() -> None:
    story = _lost_receipt()
    story.receipt(0, conn=1)
    assert _codes(trial(DuplicateNotStored, story.done(), CASE)) == ["wrong-answer"]


def test_duplicate_answered_with_error_is_found() -> None:
    story = _lost_receipt()
    story.down("SEND_ERROR", 1, producer_id=0, sequence_id=0, fields={"error": "PersistenceError"})
    assert _codes(trial(DuplicateNotStored, story.done(), CASE)) == ["wrong-answer"]


def test_error_for_a_copy_whose_first_is_not_stored_yet_is_accepted() -> None:
    story = Script()
    story.producer()
    story.send_frame(0)
    story.cut()
    story.producer_again(1)
    story.send_frame(0, conn=1)
    story.down("SEND_ERROR", 1, producer_id=0, sequence_id=0, fields={"error": "PersistenceError"})
    story.stored(0)
    assert _codes(trial(DuplicateNotStored, story.done(), CASE)) == []


def test_topic_without_deduplication_is_not_judged() -> None:
    story = _lost_receipt()
    story.stored(0)
    story.receipt(0, conn=1)
    assert _codes(trial(DuplicateNotStored, story.done())) == []


def test_topic_whose_policy_changes_is_not_judged() -> None:
    change = Step(Who.BROKER, "set_policy", {"topic": "t", "deduplication": False})
    story = _lost_receipt()
    story.stored(0)
    case = msgspec.structs.replace(CASE, steps=(change,))
    assert _codes(trial(DuplicateNotStored, story.done(), case)) == []


# --- resumes-after-last-id --------------------------------------------------------------------------------------------


def _first_id(sequence_id: int, last: int = -1, **config: Any) -> ResumesAfterLastId:
    story = Script()
    story.producer(last_sequence_id=last, **config)
    story.send(0)
    story.send_frame(0, sequence_id=sequence_id)
    return trial(ResumesAfterLastId, story.done())


def test_first_id_after_the_brokers_last_is_accepted() -> None:
    check = _first_id(42, last=41)
    assert (check.findings, check.exercised) == ([], 1)


def test_producer_that_ignores_the_brokers_last_id_is_found() -> None:
    assert _codes(_first_id(0, last=41)) == ["starts-elsewhere"]


def test_configured_initial_id_goes_before_the_brokers() -> None:
    assert _codes(_first_id(101, last=41, initial_sequence_id=100)) == []


def test_configured_initial_id_that_is_ignored_is_found() -> None:
    assert _codes(_first_id(0, initial_sequence_id=0)) == ["starts-elsewhere"]


def test_negative_initial_id_means_none() -> None:
    assert _codes(_first_id(42, last=41, initial_sequence_id=-1)) == []


def test_reconnected_producer_is_no_new_one() -> None:
    story = Script()
    story.producer()
    story.send(0)
    story.send_frame(0)
    story.cut()
    story.producer_again(1, last_sequence_id=7)
    story.send(1)
    story.send_frame(1, conn=1)
    assert _codes(trial(ResumesAfterLastId, story.done())) == []


def test_producer_that_reconnected_before_its_first_send_is_not_judged() -> None:
    story = Script()
    story.producer()
    story.cut()
    story.producer_again(1, last_sequence_id=7)
    story.send(0)
    story.send_frame(0, conn=1)
    assert trial(ResumesAfterLastId, story.done()).exercised == 0


# --- duplicate-receipt-completes --------------------------------------------------------------------------------------


def _duplicate() -> Script:
    story = _lost_receipt()
    story.receipt(0, conn=1, id=DUPLICATE)
    return story


def test_send_completed_by_a_duplicates_receipt_is_accepted() -> None:
    story = _duplicate()
    story.ok(0)
    check = trial(DuplicateReceiptCompletes, story.done())
    assert (check.findings, check.exercised) == ([], 1)


def test_send_failed_by_a_duplicates_receipt_is_found() -> None:
    story = _duplicate()
    story.unknown(0, ErrorClass.OTHER)
    assert _codes(trial(DuplicateReceiptCompletes, story.done())) == ["not-completed"]


def test_send_whose_time_was_up_as_a_duplicates_receipt_came_is_accepted() -> None:
    story = _duplicate()
    story.after(5).unknown(0, ErrorClass.TIMEOUT)
    assert _codes(trial(DuplicateReceiptCompletes, story.done())) == []


def test_send_left_open_by_a_duplicates_receipt_is_found() -> None:
    assert _codes(trial(DuplicateReceiptCompletes, _duplicate().at(20_000).done())) == ["not-completed"]


def test_duplicates_receipt_around_a_cut_proves_nothing() -> None:
    story = _duplicate()
    story.cut(1)
    check = trial(DuplicateReceiptCompletes, story.at(20_000).done())
    assert (check.findings, check.exercised) == ([], 0)


def test_duplicates_receipt_behind_the_end_of_the_producer_is_for_nobody() -> None:
    story = _lost_receipt()
    story.down("CLOSE_PRODUCER", 1, producer_id=0)
    story.receipt(0, conn=1, id=DUPLICATE)
    story.at(2_000).unknown(0)
    assert _codes(trial(DuplicateReceiptCompletes, story.done())) == []


# --- effectively-once -------------------------------------------------------------------------------------------------


def _once(*more: int) -> EffectivelyOnce:
    story = _lost_receipt(2)
    for number in more:
        story.stored(number)
    for number in range(2):
        story.receipt(number, conn=1, id=DUPLICATE)
        story.ok(number)
    story.read_back()
    return trial(EffectivelyOnce, story.done(), CASE)


def test_each_message_once_and_in_order_is_accepted() -> None:
    check = _once()
    assert (check.findings, check.exercised) == ([], 2)


def test_message_stored_twice_is_found() -> None:
    assert _codes(_once(1)) == ["stored-twice"]


def _stored(*numbers: int, **config: str | int) -> EffectivelyOnce:
    story = Script()
    story.producer(**{"producer_name": "p", **config})  # type: ignore[arg-type]
    for number in range(3):
        story.send(number)
        story.send_frame(number)
    for number in numbers:
        story.stored(number)
    for number in range(2):
        story.receipt(number)
        story.ok(number)
    story.fail(2)
    story.read_back()
    return trial(EffectivelyOnce, story.done(), CASE)


def test_lost_message_is_found() -> None:
    assert _codes(_stored(0)) == ["lost"]


def test_reordered_messages_are_found() -> None:
    assert _codes(_stored(1, 0)) == ["reordered"]


def test_message_stored_though_it_failed_is_found() -> None:
    assert _codes(_stored(0, 1, 2)) == ["stored-though-failed"]


def test_producer_with_a_chosen_first_id_is_not_judged() -> None:
    assert _codes(_stored(0, initial_sequence_id=5)) == []


def test_producer_without_a_fixed_name_is_not_judged() -> None:
    story = Script()
    story.producer()
    story.send(0)
    story.ok(0)
    story.read_back()
    assert _codes(trial(EffectivelyOnce, story.done(), CASE)) == []


def test_duplicate_receipt_behind_the_end_of_its_producer_is_not_judged() -> None:
    story = _lost_receipt(2)
    story.down("SEND_ERROR", 1, producer_id=0, sequence_id=0, fields={"error": "TopicTerminatedError"})
    story.receipt(1, conn=1, id=DUPLICATE)
    for number in (0, 1):
        story.unknown(number, ErrorClass.TERMINATED)
    assert _codes(trial(DuplicateReceiptCompletes, story.done(), CASE)) == []


# --- undecided-copy-is-refused ----------------------------------------------------------------------------------------


def _copied() -> Script:
    """Message 0 arrives twice, and is not stored yet."""
    story = Script()
    story.producer(producer_name="p")
    story.send(0)
    story.send_frame(0)
    story.cut()
    story.producer_again(1)
    story.send_frame(0, conn=1)
    return story


def test_copy_refused_until_the_first_is_stored_is_accepted() -> None:
    story = _copied()
    story.down("SEND_ERROR", 1, producer_id=0, sequence_id=0, fields={"error": "PersistenceError"})
    story.stored(0)
    check = trial(UndecidedCopyIsRefused, story.done(), CASE)
    assert (check.findings, check.exercised) == ([], 1)


def test_copy_receipted_before_the_first_is_stored_is_found() -> None:
    story = _copied()
    story.receipt(0, conn=1, id=DUPLICATE)
    assert _codes(trial(UndecidedCopyIsRefused, story.done(), CASE)) == ["receipted-undecided"]


def test_copy_that_what_was_stored_late_has_decided_may_be_receipted() -> None:
    """The first one was lost on its way, and the one behind it was stored nobody knows when."""
    story = Script()
    story.producer()
    story.send_frame(1)
    story.cut()
    story.producer_again(1)
    story.send_frame(0, conn=1)
    story.receipt(0, conn=1, id=DUPLICATE)
    story.stored(1, late=True)
    assert _codes(trial(UndecidedCopyIsRefused, story.done(), CASE)) == []


def test_copy_receipted_when_the_first_is_stored_is_accepted() -> None:
    story = _copied()
    story.stored(0)
    story.receipt(0, conn=1, id=DUPLICATE)
    assert _codes(trial(UndecidedCopyIsRefused, story.done(), CASE)) == []


def test_copy_of_an_id_inside_a_stored_batch_is_decided() -> None:
    story = Script()
    story.producer(producer_name="p")
    batch = Meta(producer_name=NAME, sequence_id=0, highest_sequence_id=3, batch=4)
    story.send_frame(0, 1, 2, 3, highest_sequence_id=3, meta=batch)
    story.stored(0, 1, 2, 3, meta=batch)
    for _ in range(2):
        story.send_frame(4, sequence_id=2)
    story.receipt(2, id=DUPLICATE)
    assert _codes(trial(UndecidedCopyIsRefused, story.done(), CASE)) == []


def test_copy_receipted_by_the_next_broker_is_accepted() -> None:
    """What waited in the broker that was killed waits nowhere."""
    story = Script()
    story.producer()
    story.send(0)
    story.fired(action="kill")
    story.cut()
    story.producer_again(1)
    story.send_frame(0, conn=1)
    story.receipt(0, conn=1)
    killed = msgspec.structs.replace(CASE, faults=(Fault(trigger=AtTime(0), action=Kill()),))
    assert _codes(trial(UndecidedCopyIsRefused, story.done(), killed)) == []


def test_copy_on_a_topic_without_deduplication_is_not_judged() -> None:
    story = _copied()
    story.receipt(0, conn=1)
    assert _codes(trial(UndecidedCopyIsRefused, story.done())) == []


# --- tells-last-id ----------------------------------------------------------------------------------------------------


def _told(last: int, stored: int = 2) -> Script:
    """Messages 0 to 2 arrive and so many are stored; the producer comes back and is told this."""
    story = Script()
    story.producer()
    for number in range(3):
        story.send(number)
        story.send_frame(number)
    story.stored(*range(stored + 1), sequence_id=0, meta=Meta(producer_name="p", sequence_id=stored))
    story.cut()
    story.producer_again(1, last_sequence_id=last)
    return story


def test_last_id_that_is_stored_is_accepted() -> None:
    check = trial(TellsLastId, _told(2).done(), CASE)
    assert (check.findings, check.exercised) == ([], 1)


def test_last_id_that_has_only_arrived_is_accepted() -> None:
    assert _codes(trial(TellsLastId, _told(2, stored=1).done(), CASE)) == []


def test_last_id_below_what_is_stored_is_found() -> None:
    assert _codes(trial(TellsLastId, _told(1).done(), CASE)) == ["wrong-last-id"]


def test_last_id_that_nobody_sent_is_found() -> None:
    assert _codes(trial(TellsLastId, _told(3).done(), CASE)) == ["wrong-last-id"]


def test_any_last_id_without_deduplication_is_found() -> None:
    assert _codes(trial(TellsLastId, _told(2).done())) == ["wrong-last-id"]


# --- keeps-own-numbering ----------------------------------------------------------------------------------------------


def _renumbered(told: int, next_id: int) -> KeepsOwnNumbering:
    """Messages 0 and 1 are sent, the broker tells this after a reconnect, and message 2 gets this id."""
    story = Script()
    story.producer()
    for number in (0, 1):
        story.send(number)
        story.send_frame(number)
    story.cut()
    story.producer_again(1, last_sequence_id=told)
    story.send(2)
    story.send_frame(2, conn=1, sequence_id=next_id)
    return trial(KeepsOwnNumbering, story.done())


def test_own_number_after_a_reconnect_is_accepted() -> None:
    check = _renumbered(41, 2)
    assert (check.findings, check.exercised) == ([], 1)


def test_number_set_forward_by_the_broker_is_found() -> None:
    assert _codes(_renumbered(41, 42)) == ["took-the-brokers"]


def test_number_set_back_by_the_broker_is_found() -> None:
    assert _codes(_renumbered(-1, 0)) == ["took-the-brokers"]


def test_broker_that_knows_the_same_number_shows_nothing() -> None:
    check = _renumbered(1, 2)
    assert (_codes(check), check.exercised) == ([], 0)
