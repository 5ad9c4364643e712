"""Chunking checks, both ways, on histories of a few lines."""

from __future__ import annotations

import msgspec
import pytest
from tests.conformance.checks.chunk_story import CASE, CHUNK, CHUNKS, CLIENT, SIZE, Story, chunk_meta, joined

from assay_conformance.checks.chunking.assembling import Assembly, ChunkFate
from assay_conformance.checks.chunking.repeated import RepeatedChunk
from assay_conformance.checks.chunking.resending import SurvivesReconnect
from assay_conformance.checks.chunking.sending import SplitsLarge
from assay_conformance.checks.chunking.whole import WholeOnly
from assay_conformance.checks.tracker import Entry
from assay_conformance.checks.trial import trial
from assay_conformance.history.script import CASE_NUMBER, CONSUMER, NAME, PRODUCER, entry_id
from assay_conformance.model import event
from assay_conformance.model.event import ErrorClass, Identity, Member, Outcome

# --- the table of chunks ---


@pytest.mark.parametrize(
    ("arriving", "fates"),
    [
        ([(0, 0), (1, 1), (2, 2)], [ChunkFate.STARTED, ChunkFate.APPENDED, ChunkFate.COMPLETE]),
        ([(0, 0), (0, 0)], [ChunkFate.STARTED, ChunkFate.RESTARTED]),
        ([(0, 0), (0, 1)], [ChunkFate.STARTED, ChunkFate.RESTARTED]),
        ([(0, 0), (1, 1), (1, 1)], [ChunkFate.STARTED, ChunkFate.APPENDED, ChunkFate.REDELIVERED]),
        ([(0, 0), (1, 1), (1, 2)], [ChunkFate.STARTED, ChunkFate.APPENDED, ChunkFate.REPEATED]),
        ([(0, 0), (2, 1), (1, 2)], [ChunkFate.STARTED, ChunkFate.GAP, ChunkFate.GAP]),
        ([(1, 0)], [ChunkFate.GAP]),
        ([(0, 0), (1, 1), (2, 2), (2, 3)], [ChunkFate.STARTED, ChunkFate.APPENDED, ChunkFate.COMPLETE, ChunkFate.GAP]),
    ],
)
def test_chunks_are_assembled_by_the_table(arriving: list[tuple[int, int]], fates: list[ChunkFate]) -> None:
    assembly = Assembly()
    assert [assembly.add(chunk_meta(chunk), Entry("t", 1, entry)) for chunk, entry in arriving] == fates


def test_what_was_held_when_everything_was_asked_for_again_may_be_held_or_not_until_it_begins_anew() -> None:
    assembly, entries = Assembly(), [Entry("t", 1, number) for number in range(3)]
    assembly.add(chunk_meta(0), entries[0])
    assembly.everything_again()
    fates = [assembly.add(chunk_meta(chunk), entries[chunk]) for chunk in (1, 2, 0, 2)]
    assert fates == [ChunkFate.UNSURE, ChunkFate.UNSURE, ChunkFate.STARTED, ChunkFate.GAP]


def test_what_was_held_over_one_connection_may_be_held_over_the_next_or_not() -> None:
    assembly, entries = Assembly(), [Entry("t", 1, number) for number in range(3)]
    assembly.add(chunk_meta(0), entries[0])
    after = assembly.carried_over()
    fates = [after.add(chunk_meta(chunk), entries[chunk]) for chunk in (1, 2, 0, 2)]
    assert fates == [ChunkFate.UNSURE, ChunkFate.UNSURE, ChunkFate.STARTED, ChunkFate.GAP]
    assert assembly.of(chunk_meta(0).uuid or "") == (entries[0],)


# --- chunking.splits-large-message ---


def test_large_message_in_chunks_is_accepted() -> None:
    story = Story()
    for chunk in range(CHUNKS):
        story.piece(chunk)
    assert story.judged(SplitsLarge) == ([], 1)


def test_chunks_go_on_after_a_reconnect() -> None:
    story = Story()
    story.piece(0)
    story.piece(1)
    story.cut()
    story.producer_again(1)
    story.piece(1, conn=1)
    story.piece(2, conn=1)
    assert story.judged(SplitsLarge) == ([], 1)


@pytest.mark.parametrize(
    ("code", "fields"),
    [
        ("not-marked", {"fields": {}}),
        ("metadata-differs", {"meta": chunk_meta(1, publish_time_ms=5)}),
        ("metadata-differs", {"meta": chunk_meta(1, chunks=4)}),
        ("metadata-missing", {"meta": chunk_meta(1, chunk_total_bytes=None)}),
        ("sequence-differs", {"sequence_id": 1}),
        ("out-of-order", {"meta": chunk_meta(0)}),
        ("uneven", {"size": 500}),
    ],
)
def test_wrong_second_chunk_is_found(code: str, fields: dict[str, object]) -> None:
    story = Story()
    story.piece(0)
    story.piece(1, **fields)  # type: ignore[arg-type]
    assert story.judged(SplitsLarge)[0] == [code]


def test_chunks_that_begin_in_the_middle_are_found() -> None:
    story = Story()
    story.piece(1)
    assert story.judged(SplitsLarge)[0] == ["out-of-order"]


def test_chunk_alone_is_found() -> None:
    story = Story()
    story.piece(0, meta=chunk_meta(0, chunks=1))
    assert story.judged(SplitsLarge)[0] == ["needless"]


def test_wrong_total_is_found() -> None:
    story = Story()
    for chunk in range(CHUNKS):
        story.piece(chunk, meta=chunk_meta(chunk, chunk_total_bytes=SIZE + 1))
    assert story.judged(SplitsLarge)[0] == ["wrong-total"]


def test_compressed_total_is_not_judged() -> None:
    story = Story()
    for chunk in range(CHUNKS):
        story.piece(chunk, meta=chunk_meta(chunk, chunk_total_bytes=SIZE - 100, compression="LZ4"))
    assert story.judged(SplitsLarge) == ([], 1)


def test_chunks_of_other_bytes_are_found() -> None:
    story = Story()
    for chunk in range(CHUNKS):
        story.piece(chunk)
    member = Member(size=SIZE, digest=1, identity=Identity(CASE_NUMBER, PRODUCER, 0))
    story.piece(0, number=1)
    story.piece(1, number=1)
    story.piece(2, number=1, members=(member,))
    assert story.judged(SplitsLarge)[0] == ["joined-differs"]


def test_large_message_in_one_frame_is_found() -> None:
    story = Story()
    story.send_frame(0, size=SIZE + 60, members=joined())
    assert story.judged(SplitsLarge)[0] == ["not-split"]


def test_large_message_that_is_refused_is_found() -> None:
    story = Story()
    story.fail(0, ErrorClass.TOO_LARGE)
    assert story.judged(SplitsLarge)[0] == ["refused"]


def test_success_without_all_chunks_is_found() -> None:
    story = Story()
    story.piece(0)
    story.ok(0)
    assert story.judged(SplitsLarge)[0] == ["incomplete"]


def test_resend_after_a_checksum_error_is_not_judged() -> None:
    story = Story()
    story.piece(0)
    story.down("SEND_ERROR", producer_id=0, sequence_id=0)
    story.piece(0)
    story.piece(1)
    assert story.judged(SplitsLarge) == ([], 0)


# --- chunking.delivers-whole-only ---


def test_whole_message_is_delivered_once_complete() -> None:
    story = Story()
    for chunk in range(CHUNKS):
        story.arrives(chunk, chunk)
    story.gets(2)
    assert story.judged(WholeOnly) == ([], 1)


def test_incomplete_message_is_kept_back() -> None:
    story = Story()
    story.arrives(0, 0)
    story.arrives(1, 1)
    story.message(5, conn=9)
    story.received(5)
    assert story.judged(WholeOnly) == ([], 1)


@pytest.mark.parametrize("arriving", [[0], [0, 2], [1]])
def test_fragment_that_is_delivered_is_found(arriving: list[int]) -> None:
    story = Story()
    for entry, chunk in enumerate(arriving):
        story.arrives(chunk, entry)
    story.gets(len(arriving) - 1)
    assert story.judged(WholeOnly)[0] == ["fragment-delivered"]


def _asked_for_everything(chunks_before: int) -> Story:
    """The others come behind that, for they were on their way."""
    story = Story()
    for chunk in range(CHUNKS):
        if chunk == chunks_before:
            story.redeliver_frame(conn=9)
        story.arrives(chunk, chunk)
    return story


def _come_back(chunks_before: int) -> Story:
    """A consumer that got some chunks, and those behind them over another connection."""
    story = Story()
    for chunk in range(CHUNKS):
        if chunk == chunks_before:
            story.cut(9)
            story.connected(10)
            story.subscribed(10)
        story.arrives(chunk, chunk, conn=9 if chunk < chunks_before else 10)
    return story


@pytest.mark.parametrize("chunks_before", [1, 2])
def test_message_may_be_joined_of_chunks_held_from_the_connection_before(chunks_before: int) -> None:
    story = _come_back(chunks_before)
    story.gets(2)
    assert story.judged(WholeOnly)[0] == []


def test_fragment_that_is_delivered_over_another_connection_is_found() -> None:
    story = _come_back(1)
    story.gets(1)
    assert story.judged(WholeOnly)[0] == ["fragment-delivered"]


@pytest.mark.parametrize("chunks_before", [1, 2])
def test_message_may_be_joined_of_chunks_held_when_everything_is_asked_for_again(chunks_before: int) -> None:
    story = _asked_for_everything(chunks_before)
    story.gets(2)
    assert story.judged(WholeOnly)[0] == []


def test_chunk_that_came_twice_before_everything_was_asked_for_again_is_forgotten() -> None:
    """Joined of what was held, and of what came again: it is handed over twice, as was asked for."""
    story = Story()
    for chunk in (0, 1, 1):
        story.arrives(chunk, chunk)
    story.redeliver_frame(conn=9)
    for chunk in (2, 0, 1, 2):
        story.arrives(chunk, chunk)
    story.gets(2)
    story.gets(2)
    assert story.judged(RepeatedChunk)[0] == []


def test_fragment_that_is_delivered_when_everything_was_asked_for_again_is_found() -> None:
    story = _asked_for_everything(1)
    story.gets(1)
    assert story.judged(WholeOnly)[0] == ["fragment-delivered"]


def test_last_chunk_alone_when_everything_was_asked_for_again_is_found() -> None:
    story = _asked_for_everything(1)
    story.gets(2, size=800, digest=7)
    assert story.judged(WholeOnly)[0] == ["fragment-delivered"]


def test_message_joined_wrongly_is_found() -> None:
    story = Story()
    for chunk in range(CHUNKS):
        story.arrives(chunk, chunk)
    story.gets(2, digest=1)
    assert story.judged(WholeOnly)[0] == ["wrong-content"]


def test_whole_message_that_is_withheld_is_found() -> None:
    story = Story()
    for chunk in range(CHUNKS):
        story.arrives(chunk, chunk)
    story.after(600)
    story.receive(asked=1, got=0)
    assert story.judged(WholeOnly)[0] == ["not-delivered"]


@pytest.mark.parametrize(("expiry_ms", "codes"), [(300, []), (1_000, ["not-delivered"])])
def test_message_of_which_the_last_chunk_comes_when_it_has_expired_may_be_withheld(
    expiry_ms: int, codes: list[str]
) -> None:
    story = Story()
    story.arrives(0, 0)
    story.arrives(1, 1)
    story.after(500)
    story.arrives(2, 2)
    story.after(600)
    story.receive(asked=1, got=0)
    facts = msgspec.structs.replace(CLIENT, fixed={**CLIENT.fixed, "expire_incomplete_chunked_ms": expiry_ms})
    assert story.judged(WholeOnly, facts)[0] == codes


def test_whole_message_that_comes_again_after_its_ack_may_be_withheld() -> None:
    story = Story()
    for chunk in range(CHUNKS):
        story.arrives(chunk, chunk)
    story.gets(2)
    story.ack(1)
    for chunk in range(CHUNKS):
        story.arrives(chunk, chunk)
    story.after(600)
    story.receive(asked=1, got=0)
    assert story.judged(WholeOnly) == ([], 1)


def test_message_sought_behind_is_not_withheld() -> None:
    story = Story()
    story.invoke("seek", CONSUMER, args={"message_id": [1, 2, -1, -1, 0]})
    for chunk in range(CHUNKS):
        story.arrives(chunk, chunk)
    story.after(600)
    story.receive(1, 0)
    assert story.judged(WholeOnly)[0] == []


def test_message_withheld_on_a_busy_machine_is_undecided() -> None:
    story = Story()
    for chunk in range(CHUNKS):
        story.arrives(chunk, chunk)
    story.after(600)
    story.receive(asked=1, got=0)
    story.load(600, agent_wait_ms=200)
    said = trial(WholeOnly, story.done(), CASE, CLIENT)
    assert (said.findings, bool(said.undecided_because)) == ([], True)


def test_consumer_may_drop_the_oldest_of_too_many() -> None:
    story = Story()
    for number in range(3):
        story.arrives(0, number, number)
    story.arrives(1, 3)
    story.arrives(2, 4)
    story.after(600)
    story.receive(asked=1, got=0)
    assert story.judged(WholeOnly)[0] == []


def test_damaged_chunk_completes_nothing() -> None:
    story = Story()
    story.arrives(0, 0)
    story.arrives(1, 1, intact=False)
    story.arrives(2, 2)
    story.after(600)
    story.receive(asked=1, got=0)
    assert story.judged(WholeOnly)[0] == []


# --- chunking.repeated-chunk-dropped ---


def with_repeat(entry: int) -> Story:
    """Chunk 1 comes as entry 1 and again as `entry`; chunk 2 completes the message as entry 3."""
    story = Story()
    story.arrives(0, 0)
    story.arrives(1, 1)
    story.arrives(1, entry)
    return story


def test_chunk_sent_twice_is_filtered_and_acked() -> None:
    story = with_repeat(2)
    story.ack_frame(2, conn=9)
    story.arrives(2, 3)
    story.gets(3)
    story.after(300)
    story.close_consumer()
    assert story.judged(RepeatedChunk) == ([], 1)


def test_chunk_sent_twice_and_not_acked_is_found() -> None:
    story = with_repeat(2)
    story.arrives(2, 3)
    story.gets(3)
    story.after(300)
    story.close_consumer()
    assert story.judged(RepeatedChunk)[0] == ["repeat-not-acked"]


def test_redelivered_chunk_is_filtered() -> None:
    story = with_repeat(1)
    story.arrives(2, 3)
    story.gets(3)
    story.ack(1)
    story.ack_frame(0, 1, 3, conn=9)
    assert story.judged(RepeatedChunk) == ([], 1)


def test_redelivered_chunk_may_be_covered_by_a_cumulative_ack_of_a_later_message() -> None:
    story = with_repeat(1)
    story.arrives(2, 3)
    story.gets(3)
    story.message(1, entry=4, conn=9)
    story.received(1, entry=4)
    args = {"consumer": CONSUMER, "messages": [2], "cumulative": True}
    story.complete(story.invoke("ack", CONSUMER, args=args))
    story.ack_frame(4, conn=9, ack_type="Cumulative")
    assert story.judged(RepeatedChunk) == ([], 1)


def test_redelivered_chunk_that_is_acked_is_found() -> None:
    story = with_repeat(1)
    story.ack_frame(1, conn=9)
    story.arrives(2, 3)
    story.gets(3)
    assert story.judged(RepeatedChunk)[0] == ["redelivery-acked"]


def test_redelivered_chunk_goes_with_its_message_when_that_expires() -> None:
    story = with_repeat(1)
    story.after(60_000)
    story.ack_frame(0, 1, conn=9)
    assert story.judged(RepeatedChunk)[0] == []


def test_repeat_that_delivers_twice_is_found() -> None:
    story = with_repeat(2)
    story.ack_frame(2, conn=9)
    story.arrives(2, 3)
    story.gets(3)
    story.gets(3)
    assert story.judged(RepeatedChunk)[0] == ["delivered-twice"]


def test_repeat_that_damages_the_message_is_found() -> None:
    story = with_repeat(2)
    story.ack_frame(2, conn=9)
    story.arrives(2, 3)
    story.gets(3, size=SIZE + CHUNK)
    assert story.judged(RepeatedChunk)[0] == ["wrong-content"]


def test_repeat_that_loses_the_message_is_found() -> None:
    story = with_repeat(2)
    story.ack_frame(2, conn=9)
    story.arrives(2, 3)
    story.after(600)
    story.receive(asked=1, got=0)
    assert story.judged(RepeatedChunk)[0] == ["not-delivered"]


def test_restarted_message_is_another_requirements_matter() -> None:
    story = with_repeat(2)
    story.arrives(0, 3)
    story.after(300)
    story.close_consumer()
    assert story.judged(RepeatedChunk) == ([], 0)


# --- chunking.survives-reconnect ---


def interrupted(resume_at: int = 1, receipts: int = 1, uuid: str = "") -> Story:
    """Chunks 0 and 1 leave, `receipts` come back, the connection is lost, and the sending goes on."""
    story = Story()
    story.piece(0)
    story.keep(0, 0)
    story.piece(1)
    story.keep(1, 1)
    for _ in range(receipts):
        story.receipt(0)
    story.cut()
    story.producer_again(1)
    for chunk in range(resume_at, CHUNKS):
        story.piece(chunk, conn=1, uuid=uuid)
    return story


def stored_and_delivered(story: Story) -> Story:
    story.keep(1, 2)
    story.keep(2, 3)
    for entry, chunk in enumerate((0, 1, 1, 2)):
        story.arrives(chunk, entry)
    story.gets(3)
    story.ok(0)
    return story


def test_interrupted_message_arrives_once() -> None:
    assert stored_and_delivered(interrupted()).judged(SurvivesReconnect) == ([], 1)


def test_message_of_one_connection_shows_nothing() -> None:
    story = Story()
    for chunk in range(CHUNKS):
        story.piece(chunk)
        story.keep(chunk, chunk)
        story.arrives(chunk, chunk)
    story.gets(2)
    story.ok(0)
    assert story.judged(SurvivesReconnect) == ([], 0)


def test_skipped_chunk_is_found() -> None:
    story = interrupted(resume_at=2, receipts=1)
    assert story.judged(SurvivesReconnect)[0] == ["chunk-skipped"]


def test_chunk_with_a_receipt_may_be_left_out() -> None:
    story = interrupted(resume_at=2, receipts=2)
    assert story.judged(SurvivesReconnect)[0] == []


def sent_away(resume_at: int) -> Story:
    """The producer is sent away behind chunks 0 and 1; the receipt of chunk 0 comes late, on the same connection."""
    story = Story()
    story.piece(0)
    story.piece(1)
    story.down("CLOSE_PRODUCER", producer_id=0)
    asked = story.producer_asks()
    story.receipt(0)
    answer = {"producer_name": NAME, "last_sequence_id": -1}
    story.down("PRODUCER_SUCCESS", request_id=asked.request_id, fields=answer)
    story.piece(resume_at)
    return story


def test_receipt_that_came_while_the_producer_was_let_in_again_counts() -> None:
    assert sent_away(resume_at=1).judged(SurvivesReconnect)[0] == []


def test_chunk_that_such_a_receipt_is_not_for_is_missed() -> None:
    assert sent_away(resume_at=2).judged(SurvivesReconnect)[0] == ["chunk-skipped"]


@pytest.mark.parametrize(("resume_at", "codes"), [(1, []), (2, ["chunk-skipped"])])
def test_receipt_counts_once_though_its_connection_had_two_sessions(resume_at: int, codes: list[str]) -> None:
    story = sent_away(resume_at=0)
    story.cut()
    story.producer_again(1)
    story.piece(resume_at, conn=1)
    assert story.judged(SurvivesReconnect)[0] == codes


def test_receipt_on_a_later_connection_ahead_of_the_chunks_is_not_theirs() -> None:
    story = Story()
    story.piece(0)
    story.cut()
    story.connected(1)
    asked = story.producer_asks(1)
    story.receipt(0, conn=1)
    answer = {"producer_name": NAME, "last_sequence_id": -1}
    story.down("PRODUCER_SUCCESS", 1, request_id=asked.request_id, fields=answer)
    story.piece(1, conn=1)
    assert story.judged(SurvivesReconnect)[0] == ["chunk-skipped"]


def altered_on_its_way(resume_at: int) -> Story:
    """Of chunk 0 a bit is flipped; the connection is lost behind the SEND_ERROR for it."""
    story = Story()
    story.piece(0, fate=event.Fate.ALTERED, sides=event.Sides.SENDER)
    story.piece(0, fate=event.Fate.ALTERED, sides=event.Sides.RECEIVER, intact=False)
    story.down("SEND_ERROR", 0, producer_id=0, sequence_id=0, fields={"error": "ChecksumError"})
    story.cut()
    story.producer_again(1)
    for chunk in range(resume_at, CHUNKS):
        story.piece(chunk, conn=1)
        story.keep(chunk, chunk)
        story.arrives(chunk, chunk)
    return story


def test_altered_chunk_that_is_left_out_is_found() -> None:
    assert altered_on_its_way(resume_at=1).judged(SurvivesReconnect)[0] == ["chunk-skipped"]


def refused_before_a_receipt(*, spoilt: int, again: int = CHUNKS, resume_at: int, late: bool = False) -> Story:
    """All chunks leave, one of them spoilt on its way, and those from `again` on once more; a receipt for each other.

    The error for the spoilt one comes first, as it waits for no store, or `late`, behind the receipts.
    """
    story = Story()
    for chunk in range(CHUNKS):
        if chunk == spoilt:
            story.piece(chunk, fate=event.Fate.ALTERED, sides=event.Sides.SENDER)
            story.piece(chunk, fate=event.Fate.ALTERED, sides=event.Sides.RECEIVER, intact=False)
        else:
            story.piece(chunk)
    receipts = CHUNKS - 1
    for refused in (not late, late):
        if refused:
            story.down("SEND_ERROR", 0, producer_id=0, sequence_id=0, fields={"error": "ChecksumError"})
            for chunk in range(again, CHUNKS):
                story.piece(chunk)
                receipts += 1
        if refused is not late:
            for _ in range(receipts):
                story.receipt(0)
    story.cut()
    story.producer_again(1)
    story.piece(resume_at, conn=1)
    return story


@pytest.mark.parametrize(("spoilt", "resume_at"), [(0, 1), (0, 2), (1, 2)])
def test_receipt_of_a_chunk_behind_a_spoilt_one_is_not_that_ones(spoilt: int, resume_at: int) -> None:
    story = refused_before_a_receipt(spoilt=spoilt, resume_at=resume_at)
    assert story.judged(SurvivesReconnect)[0] == ["chunk-skipped"]


@pytest.mark.parametrize(
    "story",
    [
        refused_before_a_receipt(spoilt=1, resume_at=1),
        refused_before_a_receipt(spoilt=0, again=0, resume_at=1),
        refused_before_a_receipt(spoilt=0, resume_at=1, late=True),
    ],
    ids=["the sending goes on there", "it was sent again at once", "the receipt was read before the error"],
)
def test_chunk_that_a_receipt_may_stand_for_may_be_left_out(story: Story) -> None:
    assert story.judged(SurvivesReconnect)[0] == []


def test_message_that_comes_through_although_a_chunk_was_altered_shows_it() -> None:
    story = altered_on_its_way(resume_at=0)
    story.gets(CHUNKS - 1)
    story.ok(0)
    assert story.judged(SurvivesReconnect) == ([], 1)


def test_message_of_which_a_chunk_was_altered_need_not_come_through() -> None:
    story = altered_on_its_way(resume_at=0)
    story.ok(0)
    assert story.judged(SurvivesReconnect) == ([], 0)


def test_new_uuid_after_reconnect_is_found() -> None:
    story = interrupted(resume_at=0, uuid="another")
    assert story.judged(SurvivesReconnect)[0] == ["uuid-changed"]


def test_chunk_the_broker_does_not_hold_is_found() -> None:
    story = interrupted()
    story.keep(2, 3, uuid="other")
    story.ok(0)
    assert story.judged(SurvivesReconnect)[0] == ["stored-incomplete"]


def test_message_that_goes_by_the_uuid_of_an_interrupted_one_is_not_judged() -> None:
    story = stored_and_delivered(interrupted())
    story.send(1)
    for chunk in range(CHUNKS):
        story.piece(chunk, 1, conn=1, uuid="p-0")
    story.ok(1)
    assert story.judged(SurvivesReconnect) == ([], 0)


def test_unknown_send_promises_no_delivery() -> None:
    story = interrupted()
    story.unknown(0)
    assert story.judged(SurvivesReconnect) == ([], 0)


def test_message_that_a_repeated_receipt_ends_early_need_not_be_stored() -> None:
    story = Story()
    story.piece(0)
    story.piece(1)
    story.receipt(0)
    story.receipt(0, fate=event.Fate.DUPLICATED)
    story.cut()
    story.producer_again(1)
    story.piece(2, conn=1)
    story.receipt(0, conn=1)
    story.ok(0)
    assert story.judged(SurvivesReconnect)[0] == []


@pytest.mark.parametrize(("times", "codes"), [(2, []), (3, ["delivered-twice"])])
def test_message_that_came_whole_over_two_connections_may_be_handed_over_twice(times: int, codes: list[str]) -> None:
    story = interrupted()
    story.keep(1, 2)
    story.keep(2, 3)
    story.ok(0)
    for conn in (9, 10):
        if conn == 10:
            story.cut(9)
            story.connected(10)
            story.subscribed(10)
        for entry, chunk in enumerate((0, 1, 1, 2)):
            story.arrives(chunk, entry, conn=conn)
    for _ in range(times):
        story.gets(3)
    assert story.judged(SurvivesReconnect)[0] == codes


def test_interrupted_message_delivered_twice_is_found() -> None:
    story = stored_and_delivered(interrupted())
    story.gets(3)
    assert story.judged(SurvivesReconnect)[0] == ["delivered-twice"]


def test_message_whose_last_chunk_was_stored_twice_may_come_twice() -> None:
    story = stored_and_delivered(interrupted())
    for entry, chunk in enumerate(range(CHUNKS), start=4):
        story.arrives(chunk, entry)
    story.gets(6)
    assert story.judged(SurvivesReconnect) == ([], 1)


def test_interrupted_message_that_is_damaged_is_found() -> None:
    story = interrupted()
    story.keep(1, 2)
    story.keep(2, 3)
    story.received(0, message_id=entry_id(3), size=SIZE, digest=1)
    story.ok(0)
    assert story.judged(SurvivesReconnect)[0] == ["damaged"]


def test_interrupted_message_that_is_withheld_is_found() -> None:
    story = interrupted()
    for entry, chunk in enumerate((0, 1, 1, 2)):
        story.arrives(chunk, entry)
    story.after(600)
    story.receive(asked=1, got=0)
    assert story.judged(SurvivesReconnect)[0] == ["not-delivered"]


def test_unknown_send_need_not_have_left_whole() -> None:
    story = Story()
    story.piece(0)
    story.unknown(0)
    assert story.judged(SplitsLarge)[0] == []


def test_message_whose_properties_leave_no_room_may_be_refused() -> None:
    story = Story()
    refused = story.send(1, size=SIZE, properties={"long": "x" * SIZE})
    story.complete(refused, Outcome.FAIL, error=ErrorClass.TOO_LARGE)
    assert trial(SplitsLarge, story.done(), CASE, CLIENT).findings == []
