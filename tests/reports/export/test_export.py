"""A failure becomes a script and a plan, or one sentence says why not."""

from __future__ import annotations

import ast
import json
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from assay_conformance.cases.build import Schedule, down
from assay_conformance.model.case import Case
from assay_conformance.model.errors import UsageError
from assay_conformance.model.fault import AfterStep, Cut, Drop, Fault, Until
from assay_conformance.model.requirement import RequirementId
from assay_fixtures.agents.manifest import find
from assay_fixtures.cli import _run
from assay_fixtures.light.faults import read_plan
from assay_reports.export import Exported, export
from assay_reports.replay import Breach, Replay, read_replay

OPTIONS = {
    "client": {},
    "producer": {"batching": "batching_enabled", "compression": "compression_type"},
    "consumer": {},
}
KNOWN = ("batching.names-all-ids", "no-highest-id")
REPLAYS = sorted((find("pulsar-python").folder / "replays").glob("*.json"))
OWN = {"pulsar", "__future__"}


def replay(case: Case, finding: tuple[str, str] = KNOWN, client: str = "pulsar-client") -> Replay:
    requirement, code = finding
    breach = Breach(requirement=RequirementId(requirement), clause="It must hold.", code=code, sentence="It did not")
    return Replay(
        schema="1.0",
        file="replay",  # type: ignore[arg-type]
        suite="0",
        catalogue="c",
        agent="pulsar-python",
        client=client,
        version="3.13.0",
        broker="embedded",
        case=case,
        breaches=(breach,),
    )


def case(*faults: Fault, verb: str = "", **producer: Any) -> Case:
    plan = Schedule()
    opened = plan.producer(plan.client())
    plan.send(opened, 3, size=100)
    if verb:
        plan.agent(verb, {"producer": opened})
    plan.wait_ops()
    return plan.case("batching/example", "An example", (KNOWN[0],), producer=producer, faults=faults)


def made(*faults: Fault, **producer: Any) -> Exported:
    return export(replay(case(*faults, **producer)), OPTIONS, "example")


def test_script_says_what_was_expected_and_how_to_run_it() -> None:
    script = made().script
    for words in ("An example.", "It must hold.", "assay broker --faults example.faults.json", "It did not"):
        assert words in script


def test_script_makes_the_calls_of_the_case_in_the_clients_words() -> None:
    script = made(batching=True, compression="ZLIB").script
    assert "batching_enabled=True, compression_type=pulsar.CompressionType.ZLib)" in script
    assert "    for _ in range(3):\n        send(3, 2, 100)\n" in script


def test_plan_is_what_the_broker_takes(tmp_path: Path) -> None:
    fault = Fault(trigger=down("SEND_RECEIPT"), action=Drop())
    path = tmp_path / "plan.json"
    path.write_text(made(fault).plan)
    read = read_plan(path)
    assert read.faults == (fault,)
    assert read.topology is not None
    assert [topic.name for topic in read.topology.topics] == ["t"]


def test_fault_that_begins_with_a_step_begins_in_the_script() -> None:
    exported = made(Fault(trigger=AfterStep(3), action=Cut()))
    assert json.loads(exported.plan)["faults"] == []
    assert "    fault(0, {'trigger': {'when': 'time', 'at_ms': 0}" in exported.script


@pytest.mark.parametrize(
    ("told", "sentence"),
    [
        (replay(case(), client="pulsar-client-go"), "pulsar-client-go is exported to no language yet"),
        (replay(case(), ("batching.names-all-ids", "no-such-code")), "no script can tell this finding"),
        (replay(case(verb="stats")), "step 5, 'stats', has no stand-alone form"),
        (replay(case(Fault(trigger=down("PONG"), action=Drop(), until=Until(step=2)))), "fault 0 ends with a step"),
    ],
)
def test_what_has_no_stand_alone_form_is_refused_in_one_sentence(told: Replay, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        export(told, OPTIONS, "example")


@pytest.mark.parametrize("path", REPLAYS, ids=lambda path: path.stem)
def test_script_needs_the_client_and_the_standard_library_alone(path: Path) -> None:
    options = {role.value: names for role, names in find("pulsar-python").options.items()}
    try:
        script = export(read_replay(path.read_bytes(), str(path)), options, path.stem).script
    except UsageError as error:
        assert "stand-alone" in str(error) or "no script can tell" in str(error)  # noqa: PT017
        return
    nodes = list(ast.walk(ast.parse(script)))
    imported = {alias.name.split(".")[0] for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    imported |= {(node.module or "").split(".")[0] for node in nodes if isinstance(node, ast.ImportFrom)}
    assert imported <= OWN | set(sys.stdlib_module_names)


def test_command_writes_both_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "failure.json"
    file.write_bytes(msgspec.json.encode(replay(case())))
    assert _run(["export", str(file), "-o", str(tmp_path / "issue"), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [Path(told[key]).name for key in ("script", "plan")] == [
        "batching--example.py",
        "batching--example.faults.json",
    ]
    assert all(Path(written).exists() for written in told.values())


def test_command_says_what_it_cannot_export(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "failure.json"
    file.write_bytes(msgspec.json.encode(replay(case(), ("batching.names-all-ids", "no-such-code"))))
    assert _run(["export", str(file)]) == 2
    assert "no script can tell this finding without the suite" in capsys.readouterr().err
