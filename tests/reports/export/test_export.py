"""A failure becomes a script and a plan, or one sentence says why not."""

from __future__ import annotations

import ast
import builtins
import errno
import json
import re
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from assay_conformance.cases.build import Schedule, down
from assay_conformance.model.case import Case
from assay_conformance.model.errors import UsageError
from assay_conformance.model.fault import AfterStep, AtTime, Cut, Drop, Fault, Until
from assay_conformance.model.outside import LimitData
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
TOPIC = "persistent://public/default/t"
LETTERS = {
    **OPTIONS,
    "consumer": {
        "pattern_update_ms": "pattern_auto_discovery_period",
        "max_redeliver_count": "dead_letter_policy",
        "dead_letter_subscription": "dead_letter_policy",
    },
}
NO_SCRIPT = {"chunking--connection-ends-inside-a-chunk", "seek--more-of-a-batch"}
"""Of those that are shipped: the fault of one is toxiproxy's, and the other has a reader."""


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


def test_fault_that_ends_with_a_step_is_ended_by_the_script() -> None:
    exported = made(Fault(trigger=down("PONG"), action=Drop(), until=Until(step=3)))
    assert not json.loads(exported.plan)["faults"][0].get("until")
    calls = exported.script.partition("def schedule")[2]
    assert "FAULTS[0] = 0\n" in calls
    assert re.search(r"wait\(2, timeout_s=[0-9.]+\)\n    heal\(0\)\n    for _ in", calls)


def test_steps_of_the_broker_are_asked_of_it() -> None:
    plan = Schedule()
    for verb, args in (("migrate", {"broker": 1}), ("fail_store", {}), ("delete", {})):
        plan.broker(verb, topic="t", **args)
    script = export(replay(plan.case("batching/example", "An example", (KNOWN[0],))), OPTIONS, "example").script
    assert f"broker('migrate', topic='{TOPIC}', broker=1)" in script
    assert f"broker('fail_store', topic='{TOPIC}')" in script


def test_consumer_is_opened_and_placed_in_the_clients_words() -> None:
    plan = Schedule()
    client = plan.client()
    consumer = plan.agent("open_consumer", {"client": client, "pattern": "t.*"})
    plan.agent("seek", {"consumer": consumer, "publish_time_ms": 7})
    example = plan.case(
        "batching/example",
        "An example",
        (KNOWN[0],),
        consumer={"max_redeliver_count": 2, "dead_letter_subscription": "d", "pattern_update_ms": 1500},
    )
    script = export(replay(example), LETTERS, "example").script
    assert f"open_pattern(2, 1, '{TOPIC}.*', 's', pattern_auto_discovery_period=2, dead_letter_policy=" in script
    assert "pulsar.ConsumerDeadLetterPolicy(2, initial_subscription_name='d')" in script
    assert "seek_time(3, 2, 7)" in script


def test_process_that_was_lost_is_told_of_without_the_suite() -> None:
    told = replay(case(), ("robustness.operations-end", "agent-lost"))
    breach = msgspec.structs.replace(
        told.breaches[0], sentence='agent x was killed by signal 11 while handling "send" #2. Full log: runs/agent.log'
    )
    script = export(msgspec.structs.replace(told, breaches=(breach,)), OPTIONS, "example").script
    assert "3.13.0: the process that runs the client was killed by signal 11." in script
    assert "agent.log" not in script


@pytest.mark.parametrize(
    ("told", "sentence"),
    [
        (replay(case(), client="pulsar-client-go"), "pulsar-client-go is exported to no language yet"),
        (replay(case(), ("batching.names-all-ids", "no-such-code")), "no script can tell this finding"),
        (replay(case(verb="stats")), "step 5, 'stats', has no stand-alone form"),
        (
            replay(case(Fault(trigger=AtTime(0), action=LimitData(limit_bytes=9)))),
            "a fault by toxiproxy has no stand-a",
        ),
        (replay(case(router="by_number")), "an application's own router has no stand-alone form"),
    ],
)
def test_what_has_no_stand_alone_form_is_refused_in_one_sentence(told: Replay, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        export(told, OPTIONS, "example")


@pytest.mark.parametrize("path", REPLAYS, ids=lambda path: path.stem)
def test_script_needs_the_client_and_the_standard_library_alone(path: Path) -> None:
    options = {role.value: names for role, names in find("pulsar-python").options.items()}
    if path.stem in NO_SCRIPT:
        with pytest.raises(UsageError, match="has no stand-alone form"):
            export(read_replay(path.read_bytes(), str(path)), options, path.stem)
        return
    script = export(read_replay(path.read_bytes(), str(path)), options, path.stem).script
    nodes = list(ast.walk(ast.parse(script)))
    imported = {alias.name.split(".")[0] for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    imported |= {(node.module or "").split(".")[0] for node in nodes if isinstance(node, ast.ImportFrom)}
    assert imported <= OWN | set(sys.stdlib_module_names)
    assert not _unknown(nodes)


def _unknown(nodes: list[ast.AST]) -> set[str]:
    """Names that are used and that nothing in the script makes."""
    made = {node.id for node in nodes if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)}
    made |= {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    made |= {node.name for node in nodes if isinstance(node, ast.ExceptHandler) and node.name}
    made |= {node.arg for node in nodes if isinstance(node, ast.arg)}
    for node in nodes:
        if isinstance(node, ast.Import | ast.ImportFrom):
            made |= {alias.asname or alias.name for alias in node.names}
    return {node.id for node in nodes if isinstance(node, ast.Name)} - made - set(dir(builtins)) - {"__name__"}


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


def _exported(tmp_path: Path, folder: Path) -> int:
    file = tmp_path / "failure.json"
    file.write_bytes(msgspec.json.encode(replay(case())))
    return _run(["export", str(file), "-o", str(folder)])


def test_another_failure_of_that_name_is_not_written_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = tmp_path / "batching--example.faults.json"
    plan.write_text("another's")
    assert _exported(tmp_path, tmp_path) == 2
    assert f"{plan}: exists already" in capsys.readouterr().err
    assert not (tmp_path / "batching--example.py").exists()


def test_the_same_failure_is_exported_again(tmp_path: Path) -> None:
    assert [_exported(tmp_path, tmp_path), _exported(tmp_path, tmp_path)] == [0, 0]


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    taken = tmp_path / "taken"
    taken.write_text("a file")
    assert _exported(tmp_path, taken / "issue") == 2
    assert f"{taken / 'issue'}: cannot be written to: Not a directory" in capsys.readouterr().err


def test_a_full_disk_names_the_file_and_leaves_no_half(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_path: Path, _data: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    failure = tmp_path / "failure.json"
    failure.write_bytes(msgspec.json.encode(replay(case())))
    monkeypatch.setattr(Path, "write_bytes", full)
    assert _run(["export", str(failure), "-o", str(tmp_path / "issue")]) == 4
    assert "batching--example.py: cannot be written: No space left on device" in capsys.readouterr().err
    assert list((tmp_path / "issue").iterdir()) == []
