"""Every listed failure of the Python client, exported, shows itself to a script that knows nothing of the suite."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import msgspec
import pytest
from tests.end_to_end.running import command_line

from assay_conformance.cases.build import Schedule
from assay_conformance.model.errors import UsageError
from assay_conformance.model.fault import Direction
from assay_conformance.model.requirement import RequirementId
from assay_fixtures.agents.manifest import find
from assay_reports.deviations import Occurs
from assay_reports.expectations import read_expectations
from assay_reports.export import Exported, export
from assay_reports.export.pieces import RUNTIME, pieces
from assay_reports.replay import Replay, read_replay

REPLAYS = sorted((find("pulsar-python").folder / "replays").glob("*.json"))
DEADLINE_S = 120
OPTIONS = {role.value: names for role, names in find("pulsar-python").options.items()}

LISTED = read_expectations(find("pulsar-python").expectations).entries
CERTAIN = {
    (Path(entry.replay).stem, entry.requirement, entry.code) for entry in LISTED if entry.occurs is Occurs.ALWAYS
}
"""The others depend on what lies behind a message in memory, or on which of two threads is first."""


def _made(failure: Replay, name: str) -> Exported | None:
    try:
        return export(failure, OPTIONS, name)
    except UsageError:
        return None


FAILURES = {path.stem: read_replay(path.read_bytes(), str(path)) for path in REPLAYS}
ALONE = {
    (stem, breach.requirement, breach.code): msgspec.structs.replace(failure, breaches=(breach,))
    for stem, failure in FAILURES.items()
    for breach in failure.breaches
}
"""Each finding by itself, so that none is taken for another of its file."""
MADE = {one: made for one, failure in ALONE.items() if (made := _made(failure, one[0]))}


def _is_of_this_version(failure: Replay) -> bool:
    return failure.version == version(failure.client)


def _few() -> frozenset[tuple[str, RequirementId, str]]:
    """Those that have every helper between them, of those that show each time: the short form."""
    able = {one: made.pieces for one, made in MADE.items() if one in CERTAIN and _is_of_this_version(ALONE[one])}
    left, few = frozenset[str]().union(*able.values()), set[tuple[str, RequirementId, str]]()
    while left:
        best = max(able, key=lambda one: len(able[one] & left))
        few.add(best)
        left -= able[best]
    return frozenset(few)


FEW = _few()


def _made_up() -> Replay:
    """It uses what no shipped failure does."""
    plan = Schedule()
    client = plan.client(tokens="one,two")
    consumer = plan.consumer(client)
    producer = plan.producer(client)
    plan.wait_ops()
    plan.send(producer, 3)
    plan.receive(consumer, 3, timeout_ms=5_000)
    plan.wait_received(consumer, 3)
    plan.wait_ops(plan.last_message_id(consumer))
    plan.wait_ops(plan.redeliver_all(consumer))
    plan.wait_frame("SEND", Direction.TO_BROKER, where={"sequence_id": 0})
    case = plan.case(
        "batching/made-up",
        "Three messages of a batch",
        (RequirementId("batching.highest-sequence-id"),),
        producer={"batching": True, "batching_max_publish_delay_ms": 500},
    )
    breach = next(one for one in FAILURES["batching--sequence-ids-of-batches"].breaches if one.code == "no-highest-id")
    return msgspec.structs.replace(FAILURES["batching--sequence-ids-of-batches"], case=case, breaches=(breach,))


def test_every_helper_is_used_by_a_script_that_is_run() -> None:
    run = frozenset[str]().union(*(MADE[one].pieces for one in FEW), export(_made_up(), OPTIONS, "made-up").pieces)
    assert {name for name, piece in pieces().items() if piece.folder == RUNTIME} == run


@pytest.mark.parametrize(
    "one", [pytest.param(one, id=" ".join(one), marks=() if one in FEW else pytest.mark.long) for one in MADE]
)
def test_exported_script_shows_the_deviation(one: tuple[str, RequirementId, str], tmp_path: Path) -> None:
    failure = ALONE[one]
    if not _is_of_this_version(failure):
        pytest.skip(f"it is one of {failure.client} {failure.version}")
    told = _ran(MADE[one], one[0], tmp_path)
    assert told.returncode == 1 or (told.returncode == 0 and one not in CERTAIN), told.stdout


def test_script_of_a_made_up_failure_shows_it(tmp_path: Path) -> None:
    told = _ran(export(_made_up(), OPTIONS, "made-up"), "made-up", tmp_path)
    assert told.returncode == 1, told.stdout


def _ran(made: Exported, name: str, folder: Path) -> subprocess.CompletedProcess[str]:
    script, plan = folder / f"{name}.py", folder / f"{name}.faults.json"
    script.write_text(made.script, "utf-8")
    plan.write_text(made.plan, "utf-8")
    serve = command_line("broker", "--port", "0", "--http-port", "0", "--json", "--faults", str(plan))
    with subprocess.Popen(serve, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as broker:
        try:
            assert broker.stdout is not None
            where = json.loads(broker.stdout.readline())
            told = subprocess.run(
                [sys.executable, "-I", str(script), where["service_url"], where["admin_url"]],
                capture_output=True,
                text=True,
                check=False,
                timeout=DEADLINE_S,
            )
        finally:
            broker.kill()
    assert "expected\n- " in told.stdout, told.stderr
    return told
