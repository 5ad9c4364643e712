"""Which kills count, what a broker's log excuses, and what the table says of both: by hand, no cluster."""

from __future__ import annotations

from bench.durability.forgotten import forgotten, is_forgotten
from bench.durability.kills import kills_seen
from bench.durability.result import CaseResult, Row, Tally, remarks, table

from assay_conformance.cases.durability import KINDS
from assay_conformance.history.script import Script
from assay_conformance.model.event import Closed, ClosedBy, Fired, Frame, MessageId
from assay_conformance.model.fault import Direction
from assay_conformance.model.requirement import RequirementId
from assay_conformance.model.verdict import Finding, Grade, Judgement, Verdict

ACKS = RequirementId("ack.survives-load")
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
        requirement=RequirementId("topics.moves-lose-nothing"), case="c", verdict=Verdict.FAIL, findings=judged.findings
    )
    assert not is_forgotten(judged, TOPIC, forgotten([LOST]), events)


# --- the table --------------------------------------------------------------------------------------------------------


def test_table_counts_kills_and_judgements_apart() -> None:
    kills = [kill for count in (600, 400, 9) for kill in kills_seen(_killed(count).done(), KINDS["both"])]
    verdicts = (Verdict.PASS, Verdict.PASS, Verdict.UNTESTABLE, Verdict.INVALID)
    judged = [
        Judgement(requirement=RequirementId("ordering.ids-grow"), case="c", verdict=v, reason="so") for v in verdicts
    ]
    tallies = {Row("reference", "both", 3): Tally([CaseResult("topics/kill-both-chunked-7", 9, kills, judged)])}
    assert list(table(tallies))[-1] == "| reference | 3 | both | 3 | 2 | 500.0 | 9 | 2 | 1 | 0 | 1 |"
    assert list(remarks(tallies)) == [
        "reference, write quorum 3, both: c, ordering.ids-grow: invalid: so",
        "reference, write quorum 3, both: what was under way: chunked 2",
        "reference, write quorum 3, both: 1 x ordering.ids-grow undecided: so",
        "reference, write quorum 3, both: 1 x a kill that does not count: fewer than 100 SENDs were under way",
    ]
