"""Judging one attempt: whose trouble is whose, and that every finding says which attempt it is of."""

from __future__ import annotations

import dataclasses
import gc

import msgspec
import pytest

from assay_conformance import catalogue
from assay_conformance.checks.base import Check, on
from assay_conformance.checks.judge import judge
from assay_conformance.history.script import CONSUMER, PRODUCER, Script
from assay_conformance.model.case import Case, ClientConfig, ConfigValue, Step, Who
from assay_conformance.model.event import AgentEnded, ClosedBy, Ending, ErrorClass, Event, Frame, Outcome, Waited
from assay_conformance.model.facts import ClientFacts, Lack
from assay_conformance.model.fault import AfterStep, Cut, Fault
from assay_conformance.model.requirement import RequirementId
from assay_conformance.model.verdict import Judgement, Verdict
from assay_conformance.pulsar.checks.robustness.calls_do_not_hang import AGENT_LOST, NEVER_ENDED, calls_do_not_hang
from assay_conformance.pulsar.checks.subscription.asks_for_its_position import BEGINS_ELSEWHERE
from assay_conformance.pulsar.registry import CHECKS
from assay_conformance.pulsar.timeline import Producer, Says, Timeline, UnknownError, breach
from assay_conformance.pulsar.timeline import check as timeline_check

CATALOGUE = catalogue.load()
ORDER, IDS = RequirementId("resend.keeps-queue-order"), RequirementId("ordering.sequence-ids-increase-by-one")
LIVENESS = calls_do_not_hang.requirement
CLIENT = ClientFacts(agent="a", client="c", client_version="1", capabilities=frozenset(CATALOGUE.capabilities))
CASE = Case(id="test/case", title="t", requirements=(ORDER, IDS), steps=())


def _story(*sequence_ids: int) -> list[Event]:
    story = Script()
    story.producer()
    for number, sequence_id in enumerate(sequence_ids):
        story.send(number)
        story.send_frame(number, sequence_id=sequence_id)
    return story.done()


def _judged(events: list[Event], attempt: int = 1, **checks: type[Check]) -> dict[str, Judgement]:
    told = judge(events, CASE, CLIENT, CATALOGUE, {**CHECKS, **{c.requirement: c for c in checks.values()}}, attempt)
    return {judgement.requirement: judgement for judgement in told}


def _hung(*sequence_ids: int) -> list[Event]:
    """Sends under these ids, and a flush that never ends."""
    story = Script()
    story.producer()
    for number, sequence_id in enumerate(sequence_ids or (0, 1)):
        story.send(number)
        story.send_frame(number, sequence_id=sequence_id)
        story.receipt(sequence_id)
    flush = story.invoke("flush", PRODUCER)
    story.after(10_000).overdue(flush)
    return story.done()


class Raises(Check):
    requirement = ORDER

    @on(Frame, "SEND")
    def send(self, event: Frame) -> None:
        raise KeyError(event.command)


def test_a_check_that_crashes_is_a_harness_error_of_its_requirement() -> None:
    told = _judged(_story(0, 1), broken=Raises)[ORDER]
    assert (told.verdict, told.reason) == (Verdict.HARNESS_ERROR, "its check crashed: KeyError: 'SEND'")


def test_the_other_requirements_are_judged_all_the_same() -> None:
    assert _judged(_story(0, 0), broken=Raises)[IDS].verdict is Verdict.FAIL


def _with_an_unreadable_entry(*sequence_ids: int) -> list[Event]:
    story = Script()
    story.producer()
    for number, sequence_id in enumerate(sequence_ids):
        story.send(number)
        story.send_frame(number, sequence_id=sequence_id)
    story.stored(0, meta=None, members=())
    return story.done()


def test_an_entry_that_cannot_be_decoded_leaves_its_case_open() -> None:
    told = _judged(_with_an_unreadable_entry(0, 0))
    assert {told[ORDER].verdict, told[IDS].verdict} == {Verdict.INCONCLUSIVE}
    assert "has metadata that cannot be decoded" in told[IDS].reason


def test_an_entry_that_cannot_be_decoded_says_nothing_of_what_is_not_the_cases() -> None:
    assert set(_judged(_with_an_unreadable_entry(0, 0))) == set(CASE.requirements)


def test_findings_name_the_attempt_they_are_of() -> None:
    assert {finding.attempt for finding in _judged(_story(0, 0), attempt=2)[IDS].findings} == {2}


def test_a_breach_counts_as_exercised() -> None:
    assert _judged(_story(0, 0))[IDS].exercised >= 1


def test_a_history_without_an_end_is_a_harness_error() -> None:
    assert {j.verdict for j in _judged(_story(0, 1)[:-1]).values()} == {Verdict.HARNESS_ERROR}


def test_a_case_whose_broker_did_not_answer_the_bench_is_invalid_whatever_the_client_did() -> None:
    story = Script()
    story.producer()
    for number in range(2):
        story.send(number)
        story.send_frame(number, sequence_id=0)
    told = _judged(story.done(Ending.PEER)).values()
    assert {(judgement.verdict, judgement.findings) for judgement in told} == {(Verdict.INVALID, ())}


def _nothing_sent_by(client: ClientFacts, *, wait_ms: int = 0, **producer: ConfigValue) -> Judgement:
    """Of a Case that configures its producer so, by a client that never sends, on a machine that keeps it waiting."""
    story = Script()
    story.producer()
    if wait_ms:
        story.after(1_000).load(999, agent_wait_ms=wait_ms)
    case = msgspec.structs.replace(CASE, config=ClientConfig(producer=producer))
    return judge(story.done(), case, client, CATALOGUE, CHECKS)[0]


@pytest.mark.parametrize(
    ("by", "again", "verdict"),
    [
        (ClosedBy.CLIENT, False, Verdict.PASS),
        (ClosedBy.CLIENT, True, Verdict.INVALID),
        (ClosedBy.BROKER, False, Verdict.INVALID),
    ],
)
def test_a_cut_is_needless_where_the_client_has_ended_its_connection_itself(
    by: ClosedBy, again: bool, verdict: Verdict
) -> None:
    case = msgspec.structs.replace(CASE, faults=(Fault(trigger=AfterStep(3), action=Cut()),))
    story = Script()
    story.producer()
    for number in range(2):
        story.send(number)
        story.send_frame(number, sequence_id=number)
    story.closed(by=by)
    if again:
        story.connected(conn=1)
    story.add(Waited, step=3, met=True)
    told = {one.requirement: one for one in judge(story.done(), case, CLIENT, CATALOGUE, CHECKS)}
    assert told[IDS].verdict is verdict


def test_what_a_client_without_the_option_did_not_do_is_unsupported() -> None:
    told = _nothing_sent_by(CLIENT, initial_sequence_id=5)
    assert told.verdict is Verdict.UNSUPPORTED
    assert told.reason == "the agent declares no initial_sequence_id, which the Case sets"


def test_what_a_client_without_the_option_did_not_do_is_not_the_machines_doing() -> None:
    assert _nothing_sent_by(CLIENT, wait_ms=300, initial_sequence_id=5).verdict is Verdict.UNSUPPORTED
    assert _nothing_sent_by(CLIENT, wait_ms=300).verdict is Verdict.INCONCLUSIVE


def test_what_a_client_whose_sends_block_did_not_do_is_unsupported() -> None:
    blocks = msgspec.structs.replace(CLIENT, lacks=frozenset({Lack.OVERLAPPING_SENDS}))
    steps = (Step(Who.AGENT, "send", {"producer": 2, "count": 2}, saves=3),)
    case = msgspec.structs.replace(CASE, steps=steps)
    story = Script()
    story.producer()
    told = judge(story.done(), case, blocks, CATALOGUE, CHECKS)[0]
    assert told.verdict is Verdict.UNSUPPORTED
    assert told.reason == "the agent declares that its client lacks overlapping_sends, which the Case calls"


def test_an_option_that_the_client_has_or_that_is_its_own_value_excuses_nothing() -> None:
    has = msgspec.structs.replace(CLIENT, settable=frozenset({"batching"}), defaults={"compression": "NONE"})
    assert _nothing_sent_by(has, batching=True, compression="NONE").verdict is Verdict.UNTESTABLE


def test_the_reason_names_the_first_opening_that_failed() -> None:
    story = Script()
    for text in ("queue too small", "not connected"):
        opening = story.invoke("open_producer")
        story.complete(opening, outcome=Outcome.FAIL, error=ErrorClass.INVALID_CONFIG, text=text)
    told = _judged(story.done())[ORDER]
    assert told.verdict is Verdict.UNTESTABLE
    assert told.reason.startswith("the Case ended without its precondition; its open_producer of operation ")
    assert "invalid_config, queue too small; " in told.reason


def test_an_operation_that_never_ends_is_a_finding_of_liveness_alone() -> None:
    told = _judged(_hung())
    assert [f.code for f in told[LIVENESS].findings] == [NEVER_ENDED]
    assert [j.requirement for j in told.values() if j.findings] == [LIVENESS]


def test_what_a_hang_kept_from_being_exercised_is_untestable() -> None:
    told = _judged(_hung())[ORDER]
    assert told.verdict is Verdict.UNTESTABLE
    assert told.reason.startswith("the Case was cut short: flush (operation ")


def test_what_a_hang_kept_away_names_the_requirement_that_it_breaks() -> None:
    told = _judged(_hung())
    assert (told[ORDER].kept_away_by, told[IDS].kept_away_by) == (LIVENESS, "")


def _gave_up(*, frames: bool = False, wait_ms: int = 0) -> Judgement:
    """Of a client that never sends, for its opening failed; a check finds fault with its end, or with another event.
    The machine kept it waiting for so long."""
    story = Script()
    story.producer()
    story.after(1_000).load(999, agent_wait_ms=wait_ms)
    opening = story.invoke("open_producer")
    story.complete(opening, outcome=Outcome.FAIL, error=ErrorClass.OTHER)

    @timeline_check("connection.retries-lookups")
    def gives_up(timeline: Timeline) -> Says:
        (*_, end), (frame, *_) = timeline.events.completions("open_producer"), timeline.events.frames("PRODUCER")
        yield breach("gave-up", "it gave up", frame if frames else end)

    return _judged(story.done(), gives_up=gives_up)[ORDER]


def test_what_a_step_kept_away_that_is_a_failure_itself_names_the_requirement_that_it_breaks() -> None:
    told = _gave_up()
    assert (told.verdict, told.kept_away_by) == (Verdict.UNTESTABLE, "connection.retries-lookups")
    assert told.reason.endswith("; that breaks connection.retries-lookups, where it is reported")


def test_what_a_step_kept_away_that_is_a_failure_itself_is_not_the_machines_doing() -> None:
    assert _gave_up(wait_ms=500).verdict is Verdict.UNTESTABLE
    assert _gave_up(wait_ms=500, frames=True).verdict is Verdict.INCONCLUSIVE


def test_a_failure_beside_the_step_that_kept_it_away_explains_nothing() -> None:
    assert _gave_up(frames=True).kept_away_by == ""


@pytest.mark.parametrize(("refuses", "kept_away_by"), [(False, "subscription.asks-for-its-position"), (True, "")])
def test_what_a_subscription_begun_elsewhere_does_not_get_is_put_down_to_that(refuses: bool, kept_away_by: str) -> None:
    """But where a call was refused, that kept away what did not come."""
    story = Script()
    story.consumer()
    if refuses:
        story.complete(story.invoke("close", CONSUMER), outcome=Outcome.UNKNOWN, error=ErrorClass.OTHER)

    @timeline_check("subscription.asks-for-its-position")
    def elsewhere(timeline: Timeline) -> Says:
        yield breach(BEGINS_ELSEWHERE, "it asks for Latest", *timeline.events.frames("SUBSCRIBE"))

    assert _judged(story.done(), elsewhere=elsewhere)[ORDER].kept_away_by == kept_away_by


def _never_exercised(requirement: str, *, other_id: bool) -> Judgement:
    """Of a client that reuses sequence ids, or does not, in a Case of a requirement that presupposes it does not."""
    stated = msgspec.structs.replace(CATALOGUE.requirements[requirement], presupposes=(IDS,))
    known = {**CATALOGUE.requirements, requirement: stated}
    case = msgspec.structs.replace(CASE, requirements=(RequirementId(requirement),))
    catalogued = dataclasses.replace(CATALOGUE, requirements=known)
    return judge(_story(0, 0 if other_id else 1), case, CLIENT, catalogued, CHECKS)[0]


def test_a_void_verdict_is_put_down_to_the_breach_of_what_its_requirement_presupposes() -> None:
    told = _never_exercised("batching.lowest-sequence-id", other_id=True)
    assert (told.verdict, told.kept_away_by) == (Verdict.UNTESTABLE, IDS)
    assert told.reason.endswith(f"; that breaks {IDS}, where it is reported")


def test_what_a_requirement_presupposes_explains_nothing_where_it_is_kept() -> None:
    assert _never_exercised("batching.lowest-sequence-id", other_id=False).kept_away_by == ""


def test_a_case_that_ran_out_of_time_without_a_hang_decides_nothing_but_what_was_broken() -> None:
    slow = Script()
    slow.producer()
    slow.send(0)
    slow.send_frame(0, sequence_id=0)
    assert _judged(slow.done(Ending.DEADLINE))[IDS].verdict is Verdict.INCONCLUSIVE
    slow.send(1)
    slow.send_frame(1, sequence_id=0)
    assert _judged(slow.done(Ending.DEADLINE))[IDS].verdict is Verdict.FAIL


def test_what_was_exercised_in_spite_of_a_hang_is_judged_by_what_was_seen() -> None:
    assert _judged(_hung())[IDS].verdict is Verdict.PASS


def test_a_breach_outranks_the_hang_beside_it() -> None:
    assert _judged(_hung(0, 0))[IDS].verdict is Verdict.FAIL


def test_a_lost_agent_is_a_finding_of_liveness_alone() -> None:
    story = Script()
    story.producer()
    lost = story.add(AgentEnded, reason="the agent exited with 3", exit_status=3)
    told = _judged(story.done(Ending.AGENT_LOST))
    assert [(f.code, f.events) for f in told[LIVENESS].findings] == [(AGENT_LOST, (lost.seq,))]
    assert {told[ORDER].verdict, told[IDS].verdict} == {Verdict.UNTESTABLE}


def test_a_deadline_that_passed_on_a_starved_machine_is_no_finding() -> None:
    story = Script()
    story.producer()
    flush = story.invoke("flush", PRODUCER)
    story.at(10_100).overdue(flush)
    story.load(10_000, loop_lag_ms=6_000)
    told = _judged(story.done())
    assert told[LIVENESS].verdict is Verdict.INCONCLUSIVE
    assert told[ORDER].verdict is Verdict.INCONCLUSIVE


def _hung_beside(*sequence_ids: int, wait_ms: int) -> list[Event]:
    """Sends under these ids, and a flush that has not ended in two seconds, in which the agent waited three times."""
    story = Script()
    story.producer()
    for number, sequence_id in enumerate(sequence_ids):
        story.send(number)
        story.send_frame(number, sequence_id=sequence_id)
        story.receipt(sequence_id)
    flush = story.invoke("flush", PRODUCER)
    for _ in range(3):
        story.after(600).load(99, agent_wait_ms=wait_ms)
    story.after(200).overdue(flush, deadline_ms=2_000)
    return story.done()


def test_what_was_exercised_beside_a_hang_is_judged_where_the_machine_left_the_operation_its_time() -> None:
    assert _judged(_hung_beside(0, 1, wait_ms=90))[IDS].verdict is Verdict.PASS


def test_what_was_exercised_beside_a_hang_is_left_open_where_the_machine_took_a_quarter_of_its_time() -> None:
    assert _judged(_hung_beside(0, 1, wait_ms=500))[IDS].verdict is Verdict.INCONCLUSIVE


def test_what_a_hang_kept_away_is_not_the_machines_doing() -> None:
    told = _judged(_hung_beside(wait_ms=90))[IDS]
    assert told.verdict is Verdict.UNTESTABLE
    assert told.reason.startswith("the Case was cut short")


def _sends(*sequence_ids: int, waits_ms: tuple[int, ...]) -> list[Event]:
    """Sends under these ids; and in windows of 99 ms each the agent was kept waiting for so long."""
    story = Script()
    story.producer()
    for number, sequence_id in enumerate(sequence_ids):
        story.send(number)
        story.send_frame(number, sequence_id=sequence_id)
    for wait_ms in waits_ms:
        story.after(100).load(99, agent_wait_ms=wait_ms)
    return story.done()


def test_a_precondition_that_many_short_waits_kept_away_is_left_open_with_the_figure() -> None:
    told = _judged(_sends(waits_ms=(60, 60, 60, 80)))[IDS]
    assert told.verdict is Verdict.INCONCLUSIVE
    assert "260 ms in all and 80 ms at once" in told.reason


def test_a_precondition_that_was_not_reached_on_a_quiet_machine_is_the_clients() -> None:
    assert _judged(_sends(waits_ms=(60, 60, 60, 60)))[IDS].verdict is Verdict.UNTESTABLE


def test_one_wait_as_long_as_a_pause_keeps_a_precondition_away() -> None:
    assert _judged(_sends(waits_ms=(100,)))[IDS].verdict is Verdict.INCONCLUSIVE


def test_what_many_short_waits_did_not_keep_away_is_judged() -> None:
    assert _judged(_sends(0, 1, waits_ms=(80, 80, 80, 80)))[IDS].verdict is Verdict.PASS


@pytest.mark.parametrize(("wait_ms", "late"), [(20, False), (80, True)])
def test_what_passed_on_a_late_machine_says_so(wait_ms: int, late: bool) -> None:
    assert _judged(_sends(0, 1, waits_ms=(wait_ms,) * 4))[IDS].machine_was_late is late


def test_a_breach_on_a_late_machine_is_a_breach() -> None:
    assert _judged(_sends(0, 0, waits_ms=(900,)))[IDS].verdict is Verdict.FAIL


def test_what_judging_leaves_behind_goes_by_itself() -> None:
    """Collections of garbage would have to walk through every event."""
    gc.collect()
    gc.disable()
    try:
        _judged(_story(*range(500)))
        assert gc.collect() < 500
    finally:
        gc.enable()


@timeline_check(ORDER, of=lambda timeline: timeline.producers)
def knows_nothing(timeline: Timeline, producer: Producer) -> Says:
    """Reads what is not known of every producer."""
    del timeline, producer
    raise UnknownError("whose it is is not known")
    yield


def test_what_too_little_is_known_of_to_judge_any_is_inconclusive_and_says_why() -> None:
    told = _judged(_story(0, 1), unknown=knows_nothing)[ORDER]
    assert told.verdict is Verdict.INCONCLUSIVE
    assert "whose it is is not known" in told.reason
    assert told.not_judged == {"whose it is is not known": 1}


@timeline_check(ORDER, of=lambda timeline: timeline.producers)
def knows_one_half(timeline: Timeline, producer: Producer) -> Says:
    """Reads what is not known after a breach."""
    yield breach("broken", f"{producer} broke it", timeline.opening(producer))
    raise UnknownError("whose it is is not known")


def test_a_breach_proven_without_what_is_not_known_is_a_failure() -> None:
    told = _judged(_story(0, 1), unknown=knows_one_half)[ORDER]
    assert (told.verdict, told.not_judged) == (Verdict.FAIL, {})
