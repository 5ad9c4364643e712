"""Every listed failure of the Python client, exported, shows itself to a script that knows nothing of the suite."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from tests.end_to_end.running import command_line

from assay_conformance.model.errors import UsageError
from assay_fixtures.agents.manifest import find
from assay_reports.expectations import Occurs, read_expectations
from assay_reports.export import export
from assay_reports.replay import read_replay

REPLAYS = sorted((find("pulsar-python").folder / "replays").glob("*.json"))
DEADLINE_S = 120
OPTIONS = {role.value: names for role, names in find("pulsar-python").options.items()}

LISTED = read_expectations(find("pulsar-python").expectations).entries
CERTAIN = {entry.replay for entry in LISTED if entry.occurs is Occurs.ALWAYS}
"""The others depend on what lies behind a message in memory, or on which of two threads is first."""


def _exported(replay: Path, folder: Path) -> tuple[Path, Path]:
    failure = read_replay(replay.read_bytes(), str(replay))
    if failure.version != version(failure.client):
        pytest.skip(f"it is one of {failure.client} {failure.version}")
    try:
        made = export(failure, OPTIONS, replay.stem)
    except UsageError as error:
        pytest.skip(str(error))
    script, plan = folder / f"{replay.stem}.py", folder / f"{replay.stem}.faults.json"
    script.write_text(made.script, "utf-8")
    plan.write_text(made.plan, "utf-8")
    return script, plan


EVERY = 16
"""Of so many one is in the short form."""


@pytest.mark.parametrize(
    "replay",
    [
        pytest.param(path, id=path.stem, marks=() if number % EVERY == 0 else pytest.mark.long)
        for number, path in enumerate(REPLAYS)
    ],
)
def test_exported_script_shows_the_deviation(replay: Path, tmp_path: Path) -> None:
    script, plan = _exported(replay, tmp_path)
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
    assert "expected  " in told.stdout, told.stderr
    certain = f"replays/{replay.name}" in CERTAIN
    assert told.returncode == 1 or (told.returncode == 0 and not certain), told.stdout
