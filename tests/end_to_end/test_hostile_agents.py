"""Agents that let a run down, through pool, runner and judge: each gets its verdict, and the other Cases theirs."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.end_to_end.processes import descendants, forget_peak, peak_kib
from tests.end_to_end.running import Ran, agent_toml, command_line, impostor, run_cases, three_sends

from assay_conformance.checks.judge import MACHINE_WAS_LATE
from assay_conformance.model.agent import HelloAnswer
from assay_conformance.model.case import Case, Config, Limits, Rate, Topic
from assay_conformance.model.errors import UsageError
from assay_conformance.model.event import Ended
from assay_conformance.model.verdict import Grade, Verdict
from assay_conformance.pulsar.checks.robustness.calls_do_not_hang import calls_do_not_hang
from assay_fixtures.agents import session as agent_session
from assay_fixtures.agents.session import AgentSession
from assay_fixtures.bounds import HELD_UP_AT_MOST_S
from assay_fixtures.runner.folder import StoredRun
from assay_fixtures.scheduler import own_time

TRAP_TOPIC = Topic(name="x-trap")
TRAP = three_sends("trap", topic=TRAP_TOPIC, operation_ms=1_000)
BESIDE = three_sends("beside", topic=Topic(name="x-beside"))
LATER = three_sends("later", operation_ms=Limits().operation_ms)
"""Nothing in it may last, so it is begun last: the other two meet, however long the first judgement takes."""

MEMORY_BOUND_KIB = 64 * 1024


@dataclass(frozen=True)
class Told:
    """What a misbehaviour comes to: its finding, words of the sentence, how often its neighbour has to run, and what
    the rows say of it besides."""

    code: str
    words: str
    neighbour_attempts: int
    in_rows: tuple[str, ...] = ()


HOSTILE: dict[str, Told] = {
    "hang-in-one-operation": Told("operation-never-ended", "had not ended 1000 ms after it was called", 1),
    "hang-altogether": Told("agent-lost", 'has not answered "clock"', 2),
    "garbage": Told("agent-lost", "wrote a line on stdout that is no event", 2),
    "exit": Told("agent-lost", 'exited with 3 while handling "send"', 2),
    "answer-twice": Told("agent-contradicts-protocol", "was answered twice", 1),
    "flood": Told("agent-lost", "events that answer no command", 2),
    "flood-of-one-line": Told("agent-lost", "wrote a line of more than 1048576 bytes", 2),
    "lie": Told("acked-but-missing", "succeeded at", 1, ("not-stored",)),
}


@dataclass(frozen=True)
class HostileRun:
    """A run of a trapped Case, one beside it, and one that begins when either has ended."""

    told: Told
    ran: Ran
    grown_kib: int


@pytest.fixture(autouse=True, scope="module")
def _impatient() -> Iterator[None]:
    """Nothing here is slow by right, so the bench need not be patient."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(agent_session, "CLOCK_DEADLINE_S", 1.0)
        patch.setattr(agent_session, "HELLO_DEADLINE_S", 5.0)
        patch.setattr(AgentSession.stop, "__kwdefaults__", {"finish_s": 1.5, "terminate_s": 0.3})
        yield


@pytest.fixture(scope="module", params=HOSTILE)
def hostile(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> HostileRun:
    base = tmp_path_factory.mktemp(request.param)
    agent = impostor(base, request.param, beside=1)
    forget_peak()
    before_kib = peak_kib("VmRSS")
    ran = run_cases(agent, (TRAP, BESIDE, LATER), base / "run", jobs=2)
    return HostileRun(HOSTILE[request.param], ran, peak_kib() - before_kib)


@pytest.mark.few(6)
def test_misbehaviour_is_a_clear_finding(hostile: HostileRun) -> None:
    last = hostile.ran.last(TRAP).attempt
    judgements = [j for j in hostile.ran.result.judgements if (j.case, j.attempt) == (TRAP.id, last) and j.findings]
    assert {j.verdict for j in judgements} == {Verdict.FAIL}
    codes = [code for j in judgements for code in sorted({finding.code for finding in j.findings})]
    assert codes == [hostile.told.code, *hostile.told.in_rows]
    assert hostile.told.words in judgements[0].reason


def test_other_cases_go_on_and_are_judged(hostile: HostileRun) -> None:
    verdicts = {case.id: hostile.ran.last(case).verdict for case in (BESIDE, LATER)}
    assert verdicts == dict.fromkeys(verdicts, Verdict.PASS)


def test_case_beside_a_crash_is_run_again_alone(hostile: HostileRun) -> None:
    judged = hostile.ran.judgements(BESIDE)
    if hostile.told.neighbour_attempts == 1:
        # What a late machine left undecided is run again as well, without any crash.
        judged = [j for j in judged if not (j.superseded and MACHINE_WAS_LATE in j.reason)]
    assert len(judged) == hostile.told.neighbour_attempts
    assert [j.superseded for j in judged] == [True] * (len(judged) - 1) + [False]


def test_every_attempt_leaves_a_history_with_an_end(hostile: HostileRun) -> None:
    stored = hostile.ran.stored
    last = [tuple(stored.history(case, attempt))[-1] for case in stored.plan for attempt in stored.attempts(case)]
    assert len(last) >= 3
    assert {type(event) for event in last} == {Ended}


def test_misbehaviour_costs_little_memory(hostile: HostileRun) -> None:
    assert hostile.grown_kib < MEMORY_BOUND_KIB


# --- lies -------------------------------------------------------------------------------------------------------------


def lied_about(topic: Topic, config: Config | None = None) -> Case:
    return three_sends("lied-about", topic=topic, config=config)


IN_ROWS = "delivery.successful-send-is-stored"
LIES: dict[str, tuple[Case, set[str]]] = {
    "plain": (lied_about(TRAP_TOPIC), {"ordering.keeps-send-order", IN_ROWS}),
    "batched": (lied_about(TRAP_TOPIC, {"batching": True}), {"ordering.keeps-send-order", IN_ROWS}),
    # No row can say on which partition a message is missing that is on none.
    "partitioned": (lied_about(Topic(name="x-trap", partitions=2)), {"ordering.keeps-send-order"}),
    "deduplicated": (
        lied_about(Topic(name="x-trap", deduplication=True), {"producer_name": "p"}),
        {"dedup.effectively-once", IN_ROWS},
    ),
    "throttled": (
        lied_about(Topic(name="x-trap", publish_rate=Rate(messages=100))),
        {"throttling.publish-rate-holds", IN_ROWS},
    ),
}
"""What is lied about -> the requirements that notice."""


@pytest.mark.few(4)
@pytest.mark.parametrize("behaviour", ["lie", "lie-from-the-start"])
@pytest.mark.parametrize("what", LIES)
def test_success_for_what_the_broker_does_not_hold_is_named(what: str, behaviour: str, tmp_path: Path) -> None:
    case, requirements = LIES[what]
    ran = run_cases(impostor(tmp_path, behaviour), (case,), tmp_path / "run")
    failed = [j for j in ran.result.judgements if j.verdict is Verdict.FAIL]
    assert {j.requirement for j in failed} == requirements
    named = next(j for j in failed if j.requirement != IN_ROWS)
    assert {finding.grade for finding in named.findings} == {Grade.A}


# --- agents that are stopped ------------------------------------------------------------------------------------------


@pytest.mark.one_in(2)
def test_an_agent_that_stops_itself_for_good_is_undecided_with_the_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From here it looks as if somebody else had stopped it."""
    patient_s, shake_hands = HELD_UP_AT_MOST_S, AgentSession._shake_hands

    async def patiently(session: AgentSession) -> HelloAnswer:
        """A machine may keep an agent from its first answer for longer than the others need to be waited for."""
        monkeypatch.setattr(own_time, "HELD_UP_AT_MOST_S", patient_s)
        answer = await shake_hands(session)
        monkeypatch.setattr(own_time, "HELD_UP_AT_MOST_S", 1.0)
        return answer

    monkeypatch.setattr(AgentSession, "_shake_hands", patiently)
    ran = run_cases(impostor(tmp_path, "stop-itself", beside=1), (TRAP, BESIDE), tmp_path / "run", jobs=2)
    asked = {*TRAP.requirements, calls_do_not_hang.requirement}
    trapped = [j for j in ran.result.judgements if j.case == TRAP.id and not j.superseded and j.requirement in asked]
    assert {j.verdict for j in trapped} == {Verdict.INCONCLUSIVE}
    assert all(any(word in j.reason for word in ("kept from running for", MACHINE_WAS_LATE)) for j in trapped)
    assert ran.last(BESIDE).verdict is Verdict.PASS


# --- agents that do not go, or do not come ----------------------------------------------------------------------------


@pytest.mark.parametrize("behaviour", ["ignore-end-of-input", "ignore-every-hint"])
def test_agent_that_will_not_go_is_made_to(behaviour: str, tmp_path: Path) -> None:
    before = descendants(os.getpid())
    ran = run_cases(impostor(tmp_path, behaviour), (LATER,), tmp_path / "run")
    assert ran.last(LATER).verdict is Verdict.PASS
    assert descendants(os.getpid()) - before == set()


def test_agent_that_never_says_hello_ends_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent_session, "HELLO_DEADLINE_S", 0.5)
    before = descendants(os.getpid())
    with pytest.raises(UsageError, match=r'no Case was run.* did not answer "hello" within 0.5 s.*log: .*agent\.log'):
        run_cases(impostor(tmp_path, "start-mute"), (LATER,), tmp_path / "run")
    assert descendants(os.getpid()) - before == set()


NEVER_UP = {"no such program": ("no-such-program",), "dies before hello": (sys.executable, "-c", "raise SystemExit(3)")}


@pytest.fixture(params=NEVER_UP)
def never_up(request: pytest.FixtureRequest, tmp_path: Path) -> subprocess.CompletedProcess[str]:
    """A certification in `tmp_path` of an agent that does not come up."""
    agent = agent_toml(tmp_path / "agent", *NEVER_UP[request.param])
    command = command_line("certify", str(agent))
    return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.few(1)
def test_agent_that_does_not_come_up_is_a_matter_of_its_configuration(
    never_up: subprocess.CompletedProcess[str],
) -> None:
    assert never_up.returncode == 2
    assert never_up.stderr.splitlines()[-1].startswith(
        "assay: no Case was run, since the agent did not come up: agent "
    )


@pytest.mark.one_in(2)
@pytest.mark.usefixtures("never_up")
def test_run_whose_agent_did_not_come_up_can_be_read(tmp_path: Path) -> None:
    (folder,) = (tmp_path / "runs").iterdir()
    assert StoredRun(folder).info.announced == ""
    told = subprocess.run(command_line("check", str(folder)), capture_output=True, text=True, check=False, timeout=60)
    assert told.stderr == "nothing was judged: the run ended before its agent had said hello\n"
    assert told.returncode == 130
