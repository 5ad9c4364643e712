"""Which kills count, what a broker's log and the wire excuse, and what the table says of both: by hand, no cluster."""

from __future__ import annotations

from bench.durability.forgotten import forgotten, is_forgotten
from bench.durability.given_up import given_up, gives_up, is_given_up
from bench.durability.kills import kills_seen
from bench.durability.result import CaseResult, CutShort, Excused, Row, Tally, in_all, remarks, table
from tests.conformance.pulsar.chunking._chunked import CHUNKS, Story

from assay_conformance.history.script import PRODUCER, Script
from assay_conformance.model.event import Closed, ClosedBy, Event, Fired, Frame, MessageId
from assay_conformance.model.fault import Direction
from assay_conformance.model.requirement import RequirementId
from assay_conformance.model.verdict import Finding, Grade, Judgement, Verdict
from assay_conformance.pulsar.cases.ordering.durability import KINDS

ACKS = RequirementId("ack.survives-unload")
TOPIC = "assay/c0-1/t"
LOST = (
    "2026-01-02T03:04:05.678 WARN  [worker-0] PersistentSubscription - [persistent://assay/c0-1/t][s] Failed to delete "
    "message at 4:9: org.apache.bookkeeper.mledger.ManagedLedgerException$CursorAlreadyClosedException: s cursor closed"
)


def _killed(in_flight: int, *, ended_after_ms: int | None = 100) -> Script:
    """One SEND crosses, its broker is killed, and its connection ends."""
    story = Script()
    story.producer()
    story.send_frame(0)
    story.add(Fired, fault=0, action="kill", frames=(7,), facts={"in_flight": in_flight})
    if ended_after_ms is not None:
        story.after(ended_after_ms).add(Closed, conn=0, by=ClosedBy.BROKER)
    return story


def _why_not(story: Script, kind: str) -> list[str]:
    return [kill.why_not for kill in kills_seen(story.done(), KINDS[kind])]


def test_kill_of_the_broker_with_a_hundred_sends_counts() -> None:
    assert _why_not(_killed(100), "broker") == [""]


def test_kill_with_fewer_sends_under_way_does_not_count() -> None:
    assert _why_not(_killed(99), "broker") == ["fewer than 100 SENDs were under way"]


def test_kill_of_a_broker_without_the_topic_does_not_count() -> None:
    assert _why_not(_killed(600, ended_after_ms=None), "broker") == ["the broker that died did not have the topic"]
    assert _why_not(_killed(600, ended_after_ms=5_000), "broker") == ["the broker that died did not have the topic"]


def test_kill_of_a_bookie_ends_no_connection() -> None:
    assert _why_not(_killed(600, ended_after_ms=None), "bookie") == [""]


def test_all_that_dies_at_one_send_is_one_kill() -> None:
    story = _killed(600)
    story.add(Fired, fault=1, action="kill", frames=(7,), facts={"in_flight": 0})
    assert _why_not(story, "both") == [""]


# --- what the broker's log excuses ------------------------------------------------------------------------------------


def _again(position: tuple[int, int]) -> tuple[Judgement, list[Frame]]:
    """An entry that was acknowledged comes again."""
    story = Script()
    ids = (MessageId(*position),)
    again = story.add(Frame, conn=0, dir=Direction.TO_CLIENT, frame=1, command="MESSAGE", size=1, ids=ids)
    finding = Finding(requirement=ACKS, code="acked-again", case="c", sentence="", events=(again.seq,), grade=Grade.B)
    judged = Judgement(requirement=ACKS, case="c", verdict=Verdict.FAIL, findings=(finding,))
    return judged, [again]


def test_acknowledgment_that_the_broker_says_it_lost_is_excused() -> None:
    judged, events = _again((4, 10))
    assert is_forgotten(judged, TOPIC, forgotten([LOST]), events)


def test_acknowledgment_in_front_of_what_was_lost_is_not_excused() -> None:
    judged, events = _again((4, 9))
    assert not is_forgotten(judged, TOPIC, forgotten([LOST]), events)


def test_loss_on_one_topic_excuses_nothing_on_another() -> None:
    judged, events = _again((4, 10))
    assert not is_forgotten(judged, "assay/c1-1/t", forgotten([LOST]), events)


def test_log_without_that_line_excuses_nothing() -> None:
    others = [LOST.replace("CursorAlreadyClosed", "BadVersion"), LOST.replace("Failed to delete", "Deleted")]
    assert forgotten(others) == {}


def test_other_requirements_are_not_excused() -> None:
    judged, events = _again((4, 10))
    judged = Judgement(
        requirement=RequirementId("topics.ownership-change-loses-nothing"),
        case="c",
        verdict=Verdict.FAIL,
        findings=judged.findings,
    )
    assert not is_forgotten(judged, TOPIC, forgotten([LOST]), events)


# --- what the wire excuses --------------------------------------------------------------------------------------------


def _chunked(*chunks: int) -> Story:
    """Chunks of message 0 arrive, each under an entry of its own."""
    story = Story()
    for entry, chunk in enumerate(chunks):
        story.arrives(chunk, entry)
    return story


def _found(code: str, *events: Event, requirement: str = "topics.ownership-change-loses-nothing") -> Judgement:
    id = RequirementId(requirement)
    seqs = tuple(event.seq for event in events)
    finding = Finding(requirement=id, code=code, case="c", sentence="", events=seqs, grade=Grade.A)
    return Judgement(requirement=id, case="c", verdict=Verdict.FAIL, findings=(finding,))


def test_message_whose_chunk_comes_again_is_given_up() -> None:
    again = [(0, 0, 1, 2), (0, 1, 1, 2), (0, 1, 0, 1, 2)]
    assert [given_up(_chunked(*chunks).done()) for chunks in again] == [{(PRODUCER, 0)}] * len(again)


def test_whole_message_that_comes_again_is_not_given_up() -> None:
    assert given_up(_chunked(*range(CHUNKS), *range(CHUNKS)).done()) == set()


def test_message_that_was_given_up_and_comes_late_is_excused() -> None:
    story = _chunked(0, 0, 1, 2)
    judged = _found("reordered", story.received(1), story.gets(3))
    assert is_given_up(judged, story.done())


def test_message_that_was_given_up_and_never_comes_is_excused() -> None:
    story = _chunked(0, 0, 1)
    last = story.arrives(2, 3)
    assert is_given_up(_found("lost", story.ok(0)), story.done())
    judged = _found("not-delivered", last, requirement="chunking.survives-reconnect")
    assert is_given_up(judged, story.done())


def test_late_message_whose_chunks_came_once_is_not_excused() -> None:
    story = _chunked(0, 1, 2)
    assert not is_given_up(_found("reordered", story.received(1), story.gets(2)), story.done())


def test_message_behind_one_that_was_given_up_is_not_excused() -> None:
    story = _chunked(0, 0, 1, 2)
    assert not is_given_up(_found("reordered", story.gets(3), story.received(1)), story.done())


def test_damage_to_a_message_that_was_given_up_is_not_excused() -> None:
    story = _chunked(0, 0, 1, 2)
    judged = _found("damaged", story.gets(3), requirement="chunking.survives-reconnect")
    assert not is_given_up(judged, story.done())


def test_only_versions_that_are_listed_give_up() -> None:
    assert gives_up("pulsar-python", "3.13.0")
    assert not gives_up("pulsar-python", "99.0")
    assert not gives_up("reference", "3.13.0")


# --- the table --------------------------------------------------------------------------------------------------------


def test_table_counts_kills_and_judgements_apart() -> None:
    kills = [kill for count in (600, 400, 9) for kill in kills_seen(_killed(count).done(), KINDS["both"])]
    verdicts = (Verdict.PASS, Verdict.PASS, Verdict.UNTESTABLE, Verdict.INVALID)
    judged = [
        Judgement(requirement=RequirementId("ordering.message-ids-increase"), case="c", verdict=v, reason="so")
        for v in verdicts
    ]
    excused = [Excused(_again((4, 10))[0], "so it is")]
    result = CaseResult("topics/kill-both-chunked-7", 9, kills, judged, excused)
    tallies = {Row("reference", "both", 3): Tally([result])}
    assert list(table(tallies))[-1] == "| reference | 3 | both | 3 | 2 | 500.0 | 9 | 2 | 1 | 1 | 1 |"
    assert list(remarks(tallies)) == [
        "reference, write quorum 3, both: c, ordering.message-ids-increase: invalid: so",
        "reference, write quorum 3, both: c, ack.survives-unload: excused, so it is",
        "reference, write quorum 3, both: what was under way: chunked 2",
        "reference, write quorum 3, both: 1 x ordering.message-ids-increase undecided: so",
        "reference, write quorum 3, both: 1 x a kill that does not count: fewer than 100 SENDs were under way",
    ]


def test_case_that_the_bench_cut_short_is_told_and_not_done() -> None:
    tally = Tally()
    tally.add([CutShort("c", "HarnessError: so"), CaseResult("d", 9, (), ())])
    assert tally.done == {"d"}
    assert "reference, write quorum 3, both: c: cut short by the bench: HarnessError: so" in remarks(
        {Row("reference", "both", 3): tally}
    )


def test_last_attempt_decides_and_hides_no_earlier_failure() -> None:
    id = RequirementId("ordering.message-ids-increase")
    failed, unknown, passed = (
        Judgement(requirement=id, case="c", verdict=verdict)
        for verdict in (Verdict.FAIL, Verdict.INCONCLUSIVE, Verdict.PASS)
    )
    first, last = CaseResult("c", 8, (), [failed, unknown]), CaseResult("c", 9, (), [passed])
    assert in_all([first, last]) == CaseResult("c", 9, (), [failed, passed])


def test_case_counts_once() -> None:
    tally = Tally()
    tally.add([CaseResult("d", 9, (), ()), CaseResult("d", 8, (), ())])
    assert [result.ledgers for result in tally.results] == [9]


def test_row_of_cases_cut_short_alone_has_a_line() -> None:
    tally = Tally(cut_short=[CutShort("c", "so")])
    assert (
        list(table({Row("reference", "both", 3): tally}))[-1]
        == "| reference | 3 | both | 0 | 0 | - | - | 0 | 0 | 0 | 0 |"
    )
