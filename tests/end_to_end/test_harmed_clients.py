"""Real agents that are killed, stopped and paused by a Case, through a whole run."""

from __future__ import annotations

import signal

import pytest
from tests.end_to_end.running import Ran, run_cases

from assay_conformance.model.case import Case
from assay_conformance.model.event import AgentEnded, Fired, Healed
from assay_conformance.model.outside import Means
from assay_conformance.model.verdict import Verdict
from assay_conformance.pulsar.cases import all_cases
from assay_conformance.pulsar.cases._client_process import PAUSE_MS
from assay_fixtures.agents import manifest

CASES = tuple(case for case in all_cases() if case.id.startswith("process/"))
BOTH = frozenset({Means.FRAMES, Means.PROCESSES})
KILLED, STOPPED, PAUSED = "process/killed-producer", "process/stopped-producer", "process/paused-producer"


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    folder = tmp_path_factory.mktemp("runs") / "run"
    return run_cases(manifest.find("reference").path, CASES, folder, means=BOTH)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_the_reference_client_passes(ran: Ran, case: Case) -> None:
    assert [(j.verdict, j.reason) for j in ran.result.judgements if j.case == case.id and j.findings] == []
    assert {j.verdict for j in ran.judgements(case)} == {Verdict.PASS}


@pytest.mark.parametrize(("case", "by"), [(KILLED, signal.SIGKILL), (STOPPED, signal.SIGTERM)])
def test_an_agent_ended_by_what_was_done_to_it(ran: Ran, case: str, by: signal.Signals) -> None:
    events = list(ran.stored.history(case, 1))
    assert [e.exit_status for e in events if isinstance(e, AgentEnded)] == [-by]


def test_another_process_takes_the_place_of_a_killed_one(ran: Ran) -> None:
    events = list(ran.stored.history(KILLED, 1))
    killed = [e.facts["pid"] for e in events if isinstance(e, Fired) and "pid" in e.facts]
    fresh = [e.facts["pid"] for e in events if isinstance(e, Healed) and "pid" in e.facts]
    assert len(killed) == len(fresh) == 1
    assert killed != fresh


def test_a_paused_agent_says_nothing_until_it_goes_on(ran: Ran) -> None:
    events = list(ran.stored.history(PAUSED, 1))
    (paused,) = [e for e in events if isinstance(e, Fired) and e.fault == 1]
    (resumed,) = [e for e in events if isinstance(e, Healed) and e.fault == 1]
    assert paused.facts["signal"] == "SIGSTOP"
    assert resumed.t_ns - paused.t_ns > PAUSE_MS * 900_000
