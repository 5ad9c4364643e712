"""Agents that let a run down, through pool, runner and judge: each gets its verdict, and the other Cases theirs."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from assay_conformance.model.event import Ended, Garbled, Overdue
from assay_conformance.model.verdict import Verdict
from assay_fixtures.agents import session as agent_session
from assay_fixtures.agents.session import AgentSession
from tests.end_to_end.running import Ran, impostor, run_cases, three_sends

TRAP = three_sends("trap", topic="x-trap", operation_ms=1_000)
BESIDE = three_sends("beside", topic="x-beside")
LATER = three_sends("later")


@dataclass(frozen=True)
class Told:
    """What a misbehaviour comes to: its finding, words of the sentence, and how often its neighbour has to run."""

    code: str
    words: str
    neighbour_attempts: int


HOSTILE: dict[str, Told] = {
    "hang-in-one-operation": Told("operation-never-ended", "had not ended 1000 ms after it was asked for", 1),
    "hang-altogether": Told("agent-lost", 'has not answered "clock"', 2),
    "garbage": Told("agent-lost", "wrote a line on stdout that is no event", 2),
    "exit": Told("agent-lost", 'exited with 3 while handling "send"', 2),
    "answer-twice": Told("agent-contradicts-protocol", "was answered twice", 1),
    "flood": Told("agent-lost", "events nobody asked for", 2),
    "flood-of-one-line": Told("agent-lost", "wrote a line of more than 1048576 bytes", 2),
    "lie": Told("acked-but-missing", "was acknowledged", 1),
}


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing here is slow by right, so the bench need not be patient."""
    monkeypatch.setattr(agent_session, "CLOCK_DEADLINE_S", 1.0)
    monkeypatch.setattr(AgentSession.stop, "__kwdefaults__", {"finish_s": 1.5, "terminate_s": 0.3})


@pytest.fixture(scope="module", params=HOSTILE)
def hostile(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Told, Ran]:
    """A run of a trapped Case, one beside it, and one that begins when either has ended."""
    base = tmp_path_factory.mktemp(request.param)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(agent_session, "CLOCK_DEADLINE_S", 1.0)
        agent = impostor(base, request.param, beside=1)
        return HOSTILE[request.param], run_cases(agent, (TRAP, BESIDE, LATER), base / "run", jobs=2)


def test_misbehaviour_is_a_clear_finding(hostile: tuple[Told, Ran]) -> None:
    told, ran = hostile
    judgement = ran.last(TRAP)
    assert (judgement.verdict, {finding.code for finding in judgement.findings}) == (Verdict.FAIL, {told.code})
    assert told.words in judgement.reason


def test_other_cases_go_on_and_are_judged(hostile: tuple[Told, Ran]) -> None:
    _, ran = hostile
    verdicts = {case.id: ran.last(case).verdict for case in (BESIDE, LATER)}
    assert verdicts == dict.fromkeys(verdicts, Verdict.PASS)


def test_case_beside_a_crash_is_run_again_and_superseded(hostile: tuple[Told, Ran]) -> None:
    told, ran = hostile
    attempts = [(j.attempt, j.superseded) for j in ran.judgements(BESIDE)]
    expected = [(1, True), (2, False)] if told.neighbour_attempts == 2 else [(1, False)]
    assert attempts == expected


def test_every_attempt_has_a_history_with_an_end(hostile: tuple[Told, Ran]) -> None:
    _, ran = hostile
    for case in ran.stored.plan:
        for attempt in ran.stored.attempts(case):
            events = list(ran.stored.history(case, attempt))
            assert isinstance(events[-1], Ended), f"{case} {attempt}"
