"""Whole runs for tests: an agent of one's own, Cases of one's own, and the folder they leave."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec
import uvloop

from assay_conformance.cases.build import Schedule
from assay_conformance.model.case import Case, Config, Limits, Topic, Topology
from assay_conformance.model.outside import Means
from assay_conformance.model.verdict import Judgement
from assay_fixtures.agents import manifest
from assay_fixtures.certification import FRAMES, Options, certify, prepare
from assay_fixtures.runner.folder import RunFolder, StoredRun
from assay_fixtures.runner.run import RunResult
from assay_fixtures.runner.selection import Selection

HERE = Path(__file__).parent
GOLDEN = HERE.parents[1] / "fixtures" / "golden" / "runs"
IMPOSTOR = str(HERE / "impostor.py")
ORDER = "ordering.keeps-send-order"
ANY_TOPIC = Topic(name="t")

_REFERENCE = "assay_fixtures.reference"
_COMMAND = f'''command = ["{{python}}", "-m", "{_REFERENCE}"]
nursery = ["{{python}}", "-m", "{_REFERENCE}.nursery"]'''


def agent_toml(folder: Path, *command: str, nursery: Sequence[str] = ()) -> Path:
    """The manifest of the reference client, started by another command, and by another nursery or none."""
    text = manifest.find("reference").path.read_text("utf-8")
    assert _COMMAND in text
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "agent.toml"
    words, forked = (msgspec.json.encode(one).decode() for one in (command, nursery))
    path.write_text(text.replace(_COMMAND, f"command = {words}\nnursery = {forked}"), "utf-8")
    return path


def impostor(folder: Path, behaviour: str, *, beside: int = 0) -> Path:
    """The manifest of an agent that misbehaves as `impostor.py` says."""
    return agent_toml(folder, sys.executable, IMPOSTOR, behaviour, "--beside", str(beside))


def mutant(folder: Path, mutation: str) -> Path:
    """The manifest of a reference client that breaks one rule."""
    started, forked = (
        ("{python}", "-m", module, "--mutation", mutation) for module in (_REFERENCE, f"{_REFERENCE}.nursery")
    )
    return agent_toml(folder, *started, nursery=forked)


def three_sends(
    name: str, *, topic: Topic = ANY_TOPIC, operation_ms: int = 5_000, config: Config | None = None
) -> Case:
    """Three sends on that topic, by a producer of that configuration."""
    plan = Schedule()
    producer = plan.producer(plan.client(), topic.name)
    plan.send(producer, 3)
    plan.wait_ops()
    return plan.case(
        f"end-to-end/{name}",
        "Three sends, and their receipts",
        (ORDER,),
        producer=config,
        topology=Topology(topics=(topic,)),
        limits=Limits(operation_ms=operation_ms, case_ms=4 * operation_ms, quiet_ms=20),
    )


@dataclass(frozen=True)
class Ran:
    """A run that ended, and what its folder says."""

    result: RunResult
    stored: StoredRun

    def judgements(self, case: Case) -> list[Judgement]:
        """Of the Case's own requirement, attempt by attempt."""
        return [j for j in self.result.judgements if j.case == case.id and j.requirement in case.requirements]

    def last(self, case: Case) -> Judgement:
        return self.judgements(case)[-1]


def run_cases(
    agent: Path, cases: Sequence[Case], folder: Path, *, jobs: int = 16, means: frozenset[Means] = FRAMES
) -> Ran:
    """Certify that agent's client on these Cases: real processes, real sockets, a real run folder."""
    plan = replace(prepare(str(agent), means=means), selection=Selection(run=tuple(cases)))
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        result = runner.run(certify(plan, RunFolder.create(folder), Options(jobs=jobs)))
    return Ran(result, StoredRun(folder))


def command_line(*arguments: str) -> list[str]:
    """The `assay` command with these arguments, as a process of its own."""
    return [sys.executable, "-c", "from assay_fixtures.cli import main; main()", *arguments]
