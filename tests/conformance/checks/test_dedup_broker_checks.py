"""What a broker remembers of producer names: each rule on a history that keeps it and on one that breaks it."""

from __future__ import annotations

import msgspec
import pytest

from assay_conformance.checks.base import Check
from assay_conformance.checks.dedup_broker import (
    BatchStandsOrFalls,
    BoundsWhatItRemembers,
    ChecksLastChunkOnly,
    DuplicateNotStored,
    ForgetsUnusedNames,
    MarkersAreExempt,
    RecordsHighestId,
    StoresOverGaps,
    SurvivesLoad,
    TakesFailedAgain,
    TellsLastId,
)
from assay_conformance.checks.trial import ANY_CASE, trial
from assay_conformance.history.script import DUPLICATE, NAME, Script
from assay_conformance.model.case import Case, Step, Topic, Topology, Who
from assay_conformance.model.event import Fate, Fired, Meta, Sides, Stepped
from assay_conformance.model.fault import AtTime, Fault, Rewrite
from assay_conformance.model.outside import Kill
from assay_conformance.model.policy import BrokerSettings
from assay_conformance.wire.answers import UNKNOWN_COPY

CASE = msgspec.structs.replace(ANY_CASE, topology=Topology(topics=(Topic(name="t", deduplication=True),)))
RESTARTED = msgspec.structs.replace(CASE, steps=(Step(Who.BROKER, "restart"),))


def judged(check: type[Check], story: Script, case: Case = CASE) -> tuple[list[str], int]:
    said = trial(check, story.done(), case)
    return [finding.code for finding in said.findings], said.exercised


def _refused(story: Script, sequence_id: int, conn: int = 0, message: str = "Not enough bookies") -> None:
    fields = {"error": "PersistenceError", "message": message}
    story.down("SEND_ERROR", conn, producer_id=0, sequence_id=sequence_id, fields=fields)


def _batch_stored() -> Script:
    """A batch with the ids 0 to 3 is stored and receipted."""
    story = Script()
    story.producer()
    meta = Meta(producer_name=NAME, sequence_id=0, highest_sequence_id=3, batch=4)
    story.send_frame(0, 1, 2, 3, highest_sequence_id=3, meta=meta)
    story.stored(0, 1, 2, 3, meta=meta)
    story.receipt(0)
    return story


# --- records-highest-id -----------------------------------------------------------------------------------------------


def test_id_from_within_a_batch_that_is_a_duplicate_is_accepted() -> None:
    story = _batch_stored()
    story.send_frame(2)
    story.receipt(2, id=DUPLICATE)
    assert judged(RecordsHighestId, story) == ([], 1)


def test_id_from_within_a_batch_that_is_stored_is_found() -> None:
    story = _batch_stored()
    story.send_frame(2)
    story.stored(2)
    story.receipt(2)
    assert judged(RecordsHighestId, story)[0] == ["wrong-answer", "duplicate-stored"]


def test_id_behind_a_batch_is_new() -> None:
    story = _batch_stored()
    story.send_frame(4)
    story.stored(4)
    story.receipt(4)
    assert judged(RecordsHighestId, story) == ([], 0)


def test_batch_that_comes_again_is_another_requirements_matter() -> None:
    story = _batch_stored()
    story.send_frame(0, 1, 2, 3, highest_sequence_id=3)
    story.receipt(0, id=DUPLICATE)
    assert judged(RecordsHighestId, story) == ([], 0)


# --- batch-stands-or-falls --------------------------------------------------------------------------------------------


def _old_and_new() -> Script:
    """A message with id 0 is stored, and a batch with the ids 0 to 3 comes."""
    story = Script()
    story.producer()
    story.send_frame(0)
    story.stored(0)
    story.receipt(0)
    story.send_frame(1, 2, 3, sequence_id=0, highest_sequence_id=3)
    return story


def test_batch_of_old_and_new_that_is_dropped_is_accepted() -> None:
    story = _old_and_new()
    story.receipt(0, id=DUPLICATE)
    assert judged(BatchStandsOrFalls, story) == ([], 1)


def test_batch_of_old_and_new_that_is_stored_is_found() -> None:
    story = _old_and_new()
    story.stored(1, 2, 3, sequence_id=0)
    story.receipt(0)
    assert judged(BatchStandsOrFalls, story)[0] == ["wrong-answer", "duplicate-stored"]


# --- what is stored is told late --------------------------------------------------------------------------------------


def _duplicate_refused() -> Script:
    """A receipted message comes again and is a duplicate; what is stored is not told yet."""
    story = Script()
    story.producer()
    story.send_frame(0)
    story.receipt(0)
    story.cut()
    story.producer_again(1)
    story.send_frame(0, conn=1)
    story.receipt(0, conn=1, id=DUPLICATE)
    return story


def test_entries_that_are_told_at_the_end_are_stored_once() -> None:
    story = _duplicate_refused()
    story.stored(0)
    assert judged(DuplicateNotStored, story) == ([], 1)


def test_entries_that_are_told_at_the_end_show_a_duplicate() -> None:
    story = _duplicate_refused()
    story.stored(0)
    story.stored(0)
    assert judged(DuplicateNotStored, story)[0] == ["duplicate-stored"]


# --- checks-last-chunk-only -------------------------------------------------------------------------------------------


def _chunks(story: Script, conn: int = 0) -> None:
    for chunk in range(3):
        meta = Meta(producer_name=NAME, sequence_id=0, chunk_id=chunk, chunks=3, uuid="u")
        story.send_frame(0, conn=conn, unit=chunk, meta=meta)


def _chunks_again() -> Script:
    """Three chunks of one message are stored, and come again."""
    story = Script()
    story.producer()
    _chunks(story)
    for entry in range(3):
        story.stored(0, entry=entry)
    story.cut()
    story.producer_again(1)
    _chunks(story, conn=1)
    return story


def test_chunks_that_are_stored_again_but_the_last_are_accepted() -> None:
    story = _chunks_again()
    story.receipt(0, conn=1)
    story.receipt(0, conn=1)
    story.receipt(0, conn=1, id=DUPLICATE)
    assert judged(ChecksLastChunkOnly, story) == ([], 2)


def test_duplicates_receipt_that_overtakes_those_of_earlier_chunks_is_accepted() -> None:
    story = _chunks_again()
    story.receipt(0, conn=1, id=DUPLICATE)
    story.receipt(0, conn=1)
    story.receipt(0, conn=1)
    assert judged(ChecksLastChunkOnly, story) == ([], 2)


def test_early_chunk_that_is_taken_for_a_duplicate_is_found() -> None:
    story = _chunks_again()
    for _ in range(3):
        story.receipt(0, conn=1, id=DUPLICATE)
    assert judged(ChecksLastChunkOnly, story)[0] == ["chunk-dropped", "chunk-dropped"]


def test_last_chunk_that_is_taken_for_a_duplicate_of_the_first_is_found() -> None:
    story = Script()
    story.producer()
    _chunks(story)
    story.receipt(0)
    story.receipt(0)
    story.receipt(0, id=DUPLICATE)
    assert judged(ChecksLastChunkOnly, story)[0] == ["chunk-dropped"]


# --- takes-failed-again -----------------------------------------------------------------------------------------------


def _failed_write() -> Script:
    """A write fails; the SEND comes again."""
    story = Script()
    story.producer()
    story.send_frame(0)
    _refused(story, 0)
    story.send_frame(0)
    return story


def test_failed_write_that_is_made_up_for_is_accepted() -> None:
    story = _failed_write()
    story.stored(0)
    story.receipt(0)
    assert judged(TakesFailedAgain, story) == ([], 1)


def test_retry_that_is_refused_for_its_failed_predecessor_is_found() -> None:
    story = _failed_write()
    _refused(story, 0, message=f"[t][p]{UNKNOWN_COPY}")
    assert judged(TakesFailedAgain, story)[0] == ["retry-not-taken"]


def test_retry_that_is_taken_for_a_duplicate_is_found() -> None:
    story = _failed_write()
    story.receipt(0, id=DUPLICATE)
    assert judged(TakesFailedAgain, story)[0] == ["retry-not-taken"]


def test_retry_that_cannot_be_written_either_tells_nothing() -> None:
    story = _failed_write()
    _refused(story, 0)
    assert judged(TakesFailedAgain, story) == ([], 0)


def test_last_of_several_retries_is_judged() -> None:
    story = _failed_write()
    _refused(story, 0)
    story.send_frame(0)
    story.receipt(0, id=DUPLICATE)
    assert judged(TakesFailedAgain, story)[0] == ["retry-not-taken"]


def test_another_send_of_its_id_that_may_be_a_copy_says_nothing_of_a_retry_that_is_still_being_written() -> None:
    story = _failed_write()
    story.send_frame(0)
    _refused(story, 0, message=UNKNOWN_COPY)
    assert judged(TakesFailedAgain, story) == ([], 0)
    story = _failed_write()
    story.send_frame(0)
    _refused(story, 0, message=UNKNOWN_COPY)
    story.stored(0)
    story.receipt(0)
    assert judged(TakesFailedAgain, story) == ([], 1)


def test_retry_that_is_refused_behind_another_send_of_its_id_is_found() -> None:
    story = _failed_write()
    story.send_frame(0)
    for _ in range(2):
        _refused(story, 0, message=UNKNOWN_COPY)
    assert judged(TakesFailedAgain, story)[0] == ["retry-not-taken"]


def test_the_refusal_of_a_frame_that_a_fault_repeated_says_nothing_of_the_first() -> None:
    story = Script()
    story.producer()
    sent = story.send_frame(0, sides=Sides.SENDER, fate=Fate.DUPLICATED)
    story.send_frame(0, sides=Sides.RECEIVER, frame=sent.frame)
    story.send_frame(0, sides=Sides.RECEIVER, fate=Fate.DUPLICATED, frame=sent.frame)
    _refused(story, 0, message=UNKNOWN_COPY)
    story.cut()
    story.producer_again(1)
    story.send_frame(0, conn=1)
    _refused(story, 0, conn=1, message=UNKNOWN_COPY)
    assert judged(TakesFailedAgain, story) == ([], 0)


def test_copy_of_what_may_still_be_written_is_not_judged() -> None:
    story = Script()
    story.producer()
    story.send_frame(0)
    story.cut()
    story.producer_again(1)
    for _ in range(2):
        story.send_frame(0, conn=1)
        _refused(story, 0, conn=1)
    assert judged(TakesFailedAgain, story) == ([], 0)


# --- survives-load ----------------------------------------------------------------------------------------------------


def _restarted(*, last: int) -> Script:
    """A message is stored, the broker dies, and the producer comes back."""
    story = Script()
    story.producer()
    story.send_frame(0)
    story.stored(0)
    story.cut()
    story.add(Stepped, step=0)
    story.producer_again(1, last_sequence_id=last)
    return story


def test_name_that_is_known_after_a_restart_is_accepted() -> None:
    story = _restarted(last=0)
    story.send_frame(0, conn=1)
    story.receipt(0, conn=1, id=DUPLICATE)
    assert judged(SurvivesLoad, story, RESTARTED) == ([], 2)


def test_name_that_is_forgotten_after_a_restart_is_found() -> None:
    assert judged(SurvivesLoad, _restarted(last=-1), RESTARTED)[0] == ["forgotten"]


@pytest.mark.parametrize(("closed", "codes"), [(False, []), (True, ["forgotten"])])
def test_producer_that_is_there_already_is_told_no_id(closed: bool, codes: list[str]) -> None:
    story = _restarted(last=0)
    if closed:
        story.up("CLOSE_PRODUCER", 1, producer_id=0, request_id=90)
    story.producer_ready(1, last_sequence_id=-1)
    assert judged(SurvivesLoad, story, RESTARTED)[0] == codes


def test_duplicate_that_is_stored_after_a_restart_is_found() -> None:
    story = _restarted(last=0)
    story.send_frame(0, conn=1)
    story.stored(0)
    story.receipt(0, conn=1)
    assert judged(SurvivesLoad, story, RESTARTED)[0] == ["wrong-answer", "duplicate-stored"]


def test_broker_that_was_killed_has_loaded_its_topics_anew() -> None:
    story = Script()
    story.producer()
    story.send_frame(0)
    story.receipt(0)
    story.add(Fired, fault=0, action="kill")
    story.producer_again(1, last_sequence_id=-1)
    case = msgspec.structs.replace(CASE, faults=(Fault(trigger=AtTime(0), action=Kill()),))
    assert judged(SurvivesLoad, story, case)[0] == ["forgotten"]


def test_name_that_is_forgotten_after_a_restart_is_no_matter_of_what_is_told() -> None:
    assert judged(TellsLastId, _restarted(last=-1), RESTARTED) == ([], 0)


@pytest.mark.parametrize(("after_ms", "codes"), [(1, []), (500, ["wrong-last-id"])])
def test_who_waits_is_answered_before_a_restart_is_told(after_ms: int, codes: list[str]) -> None:
    story = Script()
    story.producer()
    story.send_frame(0)
    story.stored(0)
    story.cut()
    story.producer_again(1, last_sequence_id=-1)
    story.after(after_ms).add(Stepped, step=0)
    assert judged(TellsLastId, story, RESTARTED)[0] == codes


def test_name_may_be_forgotten_when_it_was_idle_for_long() -> None:
    story = Script()
    story.producer()
    story.send_frame(0)
    story.stored(0)
    story.cut()
    story.at(361 * 60_000).add(Stepped, step=0)
    story.producer_again(1, last_sequence_id=-1)
    assert judged(SurvivesLoad, story, RESTARTED) == ([], 0)


# --- markers-are-exempt -----------------------------------------------------------------------------------------------

MARKED = msgspec.structs.replace(CASE, faults=(Fault(trigger=AtTime(0), action=Rewrite({"marker": True})),))


def _marked(id: int) -> Script:
    """A message with id 5, and a marker."""
    story = Script()
    story.producer()
    story.send_frame(5)
    story.receipt(5)
    story.send_frame(6, sequence_id=id, fields={"marker": True})
    return story


def test_marker_with_an_old_id_that_is_stored_is_accepted() -> None:
    story = _marked(5)
    story.receipt(5)
    assert judged(MarkersAreExempt, story, MARKED) == ([], 1)


def test_marker_that_is_taken_for_a_copy_is_found() -> None:
    story = _marked(5)
    story.receipt(5, id=DUPLICATE)
    assert judged(MarkersAreExempt, story, MARKED)[0] == ["compared"]


def test_answer_that_may_be_that_to_another_message_with_the_markers_id_tells_nothing() -> None:
    story = Script()
    story.producer()
    story.send_frame(5)
    story.send_frame(6, sequence_id=5, fields={"marker": True})
    story.receipt(5, id=DUPLICATE)
    assert judged(MarkersAreExempt, story, MARKED) == ([], 0)


def test_message_with_an_id_below_a_markers_that_is_stored_is_accepted() -> None:
    story = _marked(50)
    story.receipt(50)
    story.send_frame(7)
    story.receipt(7)
    assert judged(MarkersAreExempt, story, MARKED) == ([], 1)


def test_message_that_a_fault_called_a_marker_is_none_in_the_log_that_a_broker_reads_anew() -> None:
    """It was stored as any other, and the topic has moved since: its id counts there."""
    story = _marked(50)
    story.cut()
    story.producer_again(1)
    story.send_frame(7, conn=1)
    story.receipt(7, conn=1, id=DUPLICATE)
    assert judged(MarkersAreExempt, story, MARKED) == ([], 0)


def test_message_that_is_taken_for_a_copy_of_a_marker_is_found() -> None:
    story = _marked(50)
    story.receipt(50)
    story.send_frame(7)
    story.receipt(7, id=DUPLICATE)
    assert judged(MarkersAreExempt, story, MARKED)[0] == ["remembered"]


# --- bounds-what-it-remembers -----------------------------------------------------------------------------------------

ONE_NAME = msgspec.structs.replace(
    RESTARTED,
    topology=msgspec.structs.replace(
        CASE.topology, settings=BrokerSettings(dedup_snapshot_entries=1, dedup_max_producers=1)
    ),
)


def _two_names(*told: int, behind: int = 2) -> Script:
    """Two names send a message each, and a third so many; the broker dies, and says of the two what it knows."""
    story = Script()
    for producer_id, name in enumerate(("first", "second", "third")):
        story.producer(name=name, producer_id=producer_id)
        for sequence_id in range(behind if producer_id == 2 else 1):
            number = 10 * producer_id + sequence_id
            story.send_frame(number, producer_id=producer_id, sequence_id=sequence_id)
            story.receipt(sequence_id, producer_id=producer_id)
    story.cut()
    story.add(Stepped, step=0)
    for producer_id, (name, last) in enumerate(zip(("first", "second"), told, strict=True)):
        story.producer(conn=1, name=name, producer_id=producer_id, last_sequence_id=last)
    return story


def test_one_name_of_two_is_known_where_one_is_written_down() -> None:
    assert judged(BoundsWhatItRemembers, _two_names(-1, 0), ONE_NAME) == ([], 2)


def test_more_names_that_are_known_than_are_written_down_are_found() -> None:
    assert judged(BoundsWhatItRemembers, _two_names(0, 0), ONE_NAME)[0] == ["too-many-names"]


def test_names_of_entries_that_no_snapshot_may_know_of_are_not_counted() -> None:
    assert judged(BoundsWhatItRemembers, _two_names(0, 0, behind=1), ONE_NAME) == ([], 0)


def test_names_within_the_bound_are_no_matter_of_it() -> None:
    assert judged(BoundsWhatItRemembers, _two_names(0, 0), RESTARTED) == ([], 0)


def test_name_that_is_not_written_down_need_not_survive_a_load() -> None:
    assert judged(SurvivesLoad, _two_names(-1, 0), ONE_NAME) == ([], 0)


# --- forgets-unused-names ---------------------------------------------------------------------------------------------

A_MINUTE = msgspec.structs.replace(
    CASE,
    topology=Topology(topics=(Topic(name="t", deduplication=True),), settings=BrokerSettings(dedup_idle_minutes=1)),
)


def _asked_again(*, left_at_ms: int, told: int, asked_at_ms: int = 90_000) -> Script:
    """A message is stored at once, its producer goes, and its name is asked for."""
    story = Script()
    story.producer()
    story.send_frame(0)
    story.stored(0)
    story.at(left_at_ms).cut()
    story.at(asked_at_ms).producer_again(1, last_sequence_id=told)
    return story


def test_name_that_nobody_used_is_forgotten() -> None:
    assert judged(ForgetsUnusedNames, _asked_again(left_at_ms=100, told=-1), A_MINUTE) == ([], 1)


def test_name_that_nobody_used_and_is_remembered_is_found() -> None:
    assert judged(ForgetsUnusedNames, _asked_again(left_at_ms=100, told=0), A_MINUTE)[0] == ["remembered"]


def test_name_may_be_remembered_until_the_broker_looks_again() -> None:
    story = _asked_again(left_at_ms=100, told=0, asked_at_ms=79_000)
    assert judged(ForgetsUnusedNames, story, A_MINUTE) == ([], 0)


def test_name_with_a_silent_producer_is_remembered() -> None:
    assert judged(ForgetsUnusedNames, _asked_again(left_at_ms=89_000, told=0), A_MINUTE) == ([], 1)


def test_name_with_a_silent_producer_that_is_forgotten_is_found() -> None:
    story = _asked_again(left_at_ms=89_000, told=-1)
    assert judged(ForgetsUnusedNames, story, A_MINUTE)[0] == ["forgotten-in-use"]


def test_name_that_was_forgotten_stays_so_until_something_is_stored_again() -> None:
    story = _asked_again(left_at_ms=100, told=-1)
    story.cut(1)
    story.producer_again(2, last_sequence_id=-1)
    assert judged(ForgetsUnusedNames, story, A_MINUTE) == ([], 1)


def test_name_that_may_be_forgotten_is_told_as_the_broker_likes() -> None:
    for told in (-1, 0):
        assert judged(TellsLastId, _asked_again(left_at_ms=100, told=told), A_MINUTE)[0] == []


# --- stores-over-gaps -------------------------------------------------------------------------------------------------


def _with_a_gap() -> Script:
    story = Script()
    story.producer()
    for number, id in ((0, 3), (1, 9)):
        story.send_frame(number, sequence_id=id)
    story.receipt(3)
    return story


def test_id_far_above_the_last_is_stored() -> None:
    story = _with_a_gap()
    story.receipt(9)
    assert judged(StoresOverGaps, story) == ([], 1)


def test_id_far_above_the_last_that_is_sent_again_may_have_been_stored() -> None:
    story = _with_a_gap()
    story.producer_ready()
    story.send_frame(1, sequence_id=9)
    story.receipt(9, id=DUPLICATE)
    assert judged(StoresOverGaps, story) == ([], 0)


def test_id_below_those_of_chunks_is_no_gap() -> None:
    story = Script()
    story.producer()
    story.send_frame(0, sequence_id=3)
    story.send_frame(1, sequence_id=20, meta=Meta(producer_name=NAME, sequence_id=20, chunk_id=1, chunks=2))
    story.send_frame(2, sequence_id=9)
    story.receipt(9, id=DUPLICATE)
    assert judged(StoresOverGaps, story) == ([], 0)


def test_where_sends_are_called_markers_what_was_stored_may_have_had_another_id() -> None:
    """What is stored tells the id that its producer gave it, and that is what whoever loads the topic reads."""
    story = _with_a_gap()
    story.receipt(9, id=DUPLICATE)
    assert judged(StoresOverGaps, story, MARKED) == ([], 0)


def test_id_far_above_the_last_that_is_taken_for_a_copy_is_found() -> None:
    story = _with_a_gap()
    story.receipt(9, id=DUPLICATE)
    assert judged(StoresOverGaps, story)[0] == ["taken-for-a-copy"]
