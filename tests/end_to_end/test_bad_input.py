"""Wrong input on the command line: one sentence that names the place, the key and what was expected, and its code."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.end_to_end.running import GOLDEN, command_line

from assay_fixtures.agents import manifest
from assay_fixtures.cli import _run

# --- the inputs -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Place:
    """Where a mistake is made, and the arguments that run into it."""

    base: Path

    def file(self, name: str, text: str) -> str:
        path = self.base / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        return str(path)

    def agent_toml(self, old: str, new: str) -> str:
        """The reference client's manifest with one line wrong."""
        text = manifest.find("reference").path.read_text("utf-8")
        assert old in text
        return self.file("agent.toml", text.replace(old, new, 1))

    def expectations(self, old: str, new: str) -> list[str]:
        """A certification with an expectations file in which one line is wrong."""
        assert old in EXPECTATIONS
        return [
            "certify",
            "reference",
            "--expectations",
            self.file("expectations.toml", EXPECTATIONS.replace(old, new, 1)),
        ]

    def golden(self) -> Path:
        return shutil.copytree(GOLDEN / "1.0", self.base / "golden")

    def of_a_newer_schema(self, name: str) -> list[str]:
        """A stored run of which one file is from the future."""
        return self.of_another_schema(name, "3.0")

    def of_another_schema(self, name: str, version: str) -> list[str]:
        folder = self.golden()
        path = folder / name
        text = re.sub(r'"schema": ?"1\.0"', f'"schema": "{version}"', path.read_text("utf-8"), count=1)
        assert text != path.read_text("utf-8")
        path.write_text(text, "utf-8")
        return ["check", str(folder)]

    def without(self, name: str) -> list[str]:
        """A stored run of which one file is missing."""
        folder = self.golden()
        (folder / name).unlink()
        return ["check", str(folder)]

    def with_a_bad_line(self, name: str) -> list[str]:
        """A stored run in which a line in the middle of one file is no JSON."""
        folder = self.golden()
        path = folder / name
        first, _, *rest = path.read_text("utf-8").splitlines(keepends=True)
        path.write_text("".join([first, "{ this is no record\n", *rest]), "utf-8")
        return ["check", str(folder)]

    def plan_with_case(self, case: str) -> list[str]:
        """A stored run whose plan has a Case of that id."""
        path = self.golden() / "plan.jsonl"
        text = path.read_text("utf-8")
        assert CASE in text
        path.write_text(text.replace(f'"{CASE}"', f'"{case}"'), "utf-8")
        return ["check", str(path.parent)]

    def replay(self, old: str, new: str) -> list[str]:
        """A replay file with one thing wrong."""
        text = REPLAY.read_text("utf-8")
        assert old in text
        return ["replay", self.file("replay.json", text.replace(old, new)), "--agent", "reference"]


EXPECTATIONS = """
schema = "2.0"
agent = "reference"
tested = "*"
[[deviation]]
id = "other-bytes"
title = "known"
versions = ">=0"
reason = "known"

[[deviation.seen]]
requirement = "resend.identical-bytes"
code = "changed"
cases = ["resend/same-message"]
"""

CASE = "nack/one-of-three"
REPLAY = manifest.find("pulsar-python").folder / "replays" / "chunking--chunk-redelivered.json"
HISTORY = f"history/{CASE}/1.jsonl"
ELSEWHERE = "/proc/nowhere"

Arguments = Callable[[Place], list[str]]

USAGE: dict[str, tuple[Arguments, str]] = {
    "unknown agent": (
        lambda _: ["certify", "nobody"],
        r"agent 'nobody' is unknown; expected one of .*pulsar-python.*, or the path of an agent\.toml",
    ),
    "agent that is no name": (
        lambda _: ["certify", "reference@"],
        r"agent 'reference@': expected NAME, NAME@VERSION or .*",
    ),
    "version that is none": (
        lambda _: ["certify", "pulsar-python@three"],
        r"agent pulsar-python@three: expected a pep440 version, or latest",
    ),
    "version of an agent that has none": (
        lambda _: ["certify", "reference@9.9"],
        r"agent reference: its client is not assay's to install .*; expected @0\.1\.0 or no version, came @.*",
    ),
    "missing agent.toml": (
        lambda place: ["certify", str(place.base / "agent.toml")],
        r"{base}/agent\.toml: cannot be read: No such file or directory; expected an agent's agent\.toml",
    ),
    "agent.toml that is no TOML": (
        lambda place: ["certify", place.file("agent.toml", "schema == 1\n")],
        r"{base}/agent\.toml: is not TOML: .+",
    ),
    "agent.toml with a key too many": (
        lambda place: ["certify", place.agent_toml('language = "python"', 'language = "python"\ncolour = "red"')],
        r'{base}/agent\.toml: key "colour" is unknown; expected one of .*',
    ),
    "agent.toml with a key missing": (
        lambda place: ["certify", place.agent_toml('scheme = "pep440"\n', "")],
        r'{base}/agent\.toml: key "client\.scheme" is missing, expected it to be set; .*',
    ),
    "agent.toml with a wrong type": (
        lambda place: ["certify", place.agent_toml('default = "0.1.0"', "default = 0.1")],
        r'{base}/agent\.toml: key "client\.default" is float, expected a string',
    ),
    "agent.toml with an unknown capability": (
        lambda place: ["certify", place.agent_toml('"keep_alive"', '"keeps_alive"')],
        r'{base}/agent\.toml: key "capabilities" is \'keeps_alive\', expected one of .*"keep_alive".*',
    ),
    "agent.toml with an unknown configuration key": (
        lambda place: ["certify", place.agent_toml("compression =", "compresion =")],
        r'{base}/agent\.toml: key "config\.producer\.compresion" is \'compresion\', expected one of .*"compression".*',
    ),
    "agent.toml of a newer schema": (
        lambda place: ["certify", place.agent_toml('schema = "1.0"', 'schema = "2.0"')],
        r'{base}/agent\.toml: key "schema" is \'2\.0\', expected "1\.0": this assay reads 1\.x',
    ),
    "missing expectations": (
        lambda place: ["certify", "reference", "--expectations", str(place.base / "e.toml")],
        r"{base}/e\.toml: cannot be read: No such file or directory; expected a list of expectations",
    ),
    "expectations that are no TOML": (
        lambda place: ["certify", "reference", "--expectations", place.file("e.toml", "schema == 1\n")],
        r"{base}/e\.toml: is not TOML: .+",
    ),
    "expectations with a wrong key": (
        lambda place: place.expectations("reason =", "because ="),
        r"{base}/expectations\.toml: deviation other-bytes: unknown key 'because'.*; expected one of .*reason.*",
    ),
    "expectations with a bad range": (
        lambda place: place.expectations('versions = ">=0"', 'versions = "3 or so"'),
        r"{base}/expectations\.toml: deviation other-bytes: 'versions' is '3 or so', expected a PEP 440 .*",
    ),
    "expectations of an unknown requirement": (
        lambda place: place.expectations("resend.identical-bytes", "resend.identical-byte"),
        r"{base}/expectations\.toml: deviation other-bytes: 'requirement' is 'resend\.identical-byte', expected the id "
        r"of a requirement .*did you mean 'resend\.identical-bytes'\?",
    ),
    "expectations of an unknown Case": (
        lambda place: place.expectations("resend/same-message", "resend/some-message"),
        r"{base}/expectations\.toml: deviation other-bytes: 'cases' is 'resend/some-message', expected the id .*",
    ),
    "expectations of another agent": (
        lambda place: place.expectations('agent = "reference"', 'agent = "cooked"'),
        r"{base}/expectations\.toml: 'agent' is 'cooked', expected 'reference', the agent to be certified",
    ),
    "expectations of a newer schema": (
        lambda place: place.expectations('schema = "2.0"', 'schema = "3.0"'),
        r"{base}/expectations\.toml: 'schema' is '3\.0', expected at most 2\.x; use a newer assay",
    ),
    "unknown requirement": (
        lambda _: ["certify", "reference", "--select", "resend.keeps-orders"],
        r"'resend\.keeps-orders' is no Case, requirement, chapter, profile or capability; `assay list` shows them; "
        r"did you mean 'resend\.keeps-queue-order'\?",
    ),
    "unknown selection to leave out": (
        lambda _: ["certify", "reference", "--deselect", "pulsars"],
        r"'pulsars' is no Case, requirement, chapter, profile or capability; `assay list` shows them.*",
    ),
    "unknown selection of a kind": (
        lambda _: ["certify", "reference", "--select", "profile:resend"],
        r"'profile:resend': there is no profile 'resend'.*",
    ),
    "missing wheel": (
        lambda place: ["certify", "pulsar-python", "--wheel", str(place.base / "x.whl")],
        r"{base}/x\.whl: cannot be read: No such file or directory; expected a wheel of pulsar-client",
    ),
    "wheel that is none": (
        lambda place: ["certify", "pulsar-python", "--wheel", place.file("x.whl", "no zip")],
        r"{base}/x\.whl: is no wheel: it is no zip file; expected a wheel of pulsar-client",
    ),
    "version of a wheel": (
        lambda place: ["certify", "pulsar-python@3.13.0", "--wheel", place.file("x.whl", "no zip")],
        r"{base}/x\.whl: brings its own version; expected it without @3\.13\.0",
    ),
    "wheel for an agent that has none": (
        lambda place: ["certify", "reference", "--wheel", place.file("x.whl", "no zip")],
        r"agent reference: its client is not assay's to install .*, came --wheel .*",
    ),
    "requirement to explain that is none": (
        lambda _: ["explain", "resend.keeps-queue-orders"],
        r"'resend\.keeps-queue-orders' is no requirement; `assay list requirements` names them; "
        r"did you mean 'resend\.keeps-queue-order'\?",
    ),
    "Case to show that is none": (
        lambda place: ["show", str(place.golden()), "nack/one-of-four"],
        r"{base}/golden: no Case 'nack/one-of-four' in this run; did you mean 'nack/one-of-three'\?",
    ),
    "attempt to show that was not made": (
        lambda place: ["show", str(place.golden()), CASE, "--attempt", "7"],
        rf"{{base}}/golden: no attempt 7 at {CASE}; expected one of 1",
    ),
    "folder to show that is no run": (
        lambda place: ["show", str(place.base), CASE],
        r"{base}: no run\.json in it, expected the folder of a run \(runs/<run-id>\)",
    ),
    "history to show with a broken line": (
        lambda place: ["show", place.with_a_bad_line(HISTORY)[1], CASE],
        rf"{{base}}/golden/{re.escape(HISTORY)}, line 2: .*",
    ),
    "folder to compare that is no run": (
        lambda place: ["compare", str(place.golden()), str(place.base)],
        r"{base}: no run\.json in it, expected the folder of a run \(runs/<run-id>\)",
    ),
    "client version to compare that is none": (
        lambda _: ["compare", "reference", "reference@9.9"],
        r"agent reference: its client is not assay's to install .*; expected @0\.1\.0 or no version, came @.*",
    ),
    "run to compare that was not judged": (
        lambda place: ["compare", *(2 * place.without("verdicts.json")[1:])],
        r"{base}/golden: has no verdicts\.json; judge it first with `assay check {base}/golden`",
    ),
    "verdicts of a newer schema to compare": (
        lambda place: ["compare", *(2 * place.of_a_newer_schema("verdicts.json")[1:])],
        r"{base}/golden/verdicts\.json: written in schema 3\.0 of verdicts files, this assay reads up to 2\.x; .*",
    ),
    "run to update from that is none": (
        lambda place: ["expectations", "update", str(place.base)],
        r"{base}: no run\.json in it, expected the folder of a run \(runs/<run-id>\)",
    ),
    "expectations to update that are no TOML": (
        lambda place: ["expectations", "update", str(place.golden()), "--file", place.file("e.toml", "schema == 1\n")],
        r"{base}/e\.toml: is not TOML: .+",
    ),
    "expectations to update of another agent": (
        lambda place: [
            *("expectations", "update", str(place.golden()), "--file"),
            place.file("e.toml", EXPECTATIONS.replace('"reference"', '"cooked"')),
        ],
        r"{base}/e\.toml: 'agent' is 'cooked', expected 'raw', the agent of the run",
    ),
    "expectations to update of an agent that is not installed": (
        lambda place: ["expectations", "update", str(place.golden())],
        r"agent 'raw' of the run is neither installed nor where it was: name its expectations with --file",
    ),
    "expectations to update where nothing can be written": (
        lambda place: ["expectations", "update", str(place.golden()), "--file", f"{ELSEWHERE}/e.toml"],
        rf"{ELSEWHERE}/e\.toml: cannot be written: No such file or directory; "
        "expected a place for the list; name another with --file",
    ),
    "folder that is no run": (
        lambda place: ["check", str(place.base)],
        r"{base}: no run\.json in it, expected the folder of a run \(runs/<run-id>\)",
    ),
    "run of a newer schema": (
        lambda place: place.of_a_newer_schema("run.json"),
        r"{base}/golden/run\.json: written in schema 3\.0 of run files, this assay reads up to 2\.x; use a newer assay",
    ),
    "plan of a newer schema": (
        lambda place: place.of_a_newer_schema("plan.jsonl"),
        r"{base}/golden/plan\.jsonl: written in schema 3\.0 of plan files, this assay reads up to 2\.x; .*",
    ),
    "history of a newer schema": (
        lambda place: place.of_a_newer_schema(HISTORY),
        rf"{{base}}/golden/{re.escape(HISTORY)}: written in schema 3\.0 of history files, this assay reads .*",
    ),
    "verdicts of a newer schema": (
        lambda place: place.of_a_newer_schema("verdicts.json"),
        r"{base}/golden/verdicts\.json: written in schema 3\.0 of verdicts files, this assay reads up to 2\.x; .*",
    ),
    "run without a plan": (
        lambda place: place.without("plan.jsonl"),
        r"{base}/golden/plan\.jsonl: cannot be read: No such file or directory; expected a plan file of JSON lines",
    ),
    "plan with a broken line": (
        lambda place: place.with_a_bad_line("plan.jsonl"),
        r"{base}/golden/plan\.jsonl, line 2: .*",
    ),
    "history with a broken line": (
        lambda place: place.with_a_bad_line(HISTORY),
        rf"{{base}}/golden/{re.escape(HISTORY)}, line 2: .*",
    ),
    "plan with a Case that leads elsewhere": (
        lambda place: place.plan_with_case("../elsewhere"),
        r"{base}/golden/plan\.jsonl: Case id '\.\./elsewhere', expected words such as resend/queue-order",
    ),
    "replay of a Case that leads elsewhere": (
        lambda place: place.replay('"chunking/chunk-redelivered"', f'"{place.base}/elsewhere"'),
        r"{base}/replay\.json: Case id '{base}/elsewhere', expected words such as resend/queue-order",
    ),
    "replay of an unknown requirement": (
        lambda place: place.replay('"chunking.repeated-chunk-dropped"', '"chunking.gone"'),
        r"{base}/replay\.json: Case 'chunking/chunk-redelivered' names requirement 'chunking\.gone', which this "
        r"catalogue does not state; .*",
    ),
    "run folder that cannot be made": (
        lambda _: ["certify", "reference", "--run-dir", ELSEWHERE],
        rf"{ELSEWHERE}/[0-9-]+: cannot be made: No such file or directory; expected a place for run folders",
    ),
    "missing replay file": (
        lambda place: ["replay", str(place.base / "x.json")],
        r"{base}/x\.json: cannot be read: No such file or directory; expected a replay file",
    ),
    "replay of an older schema": (
        lambda place: place.replay('"schema": "2.0"', '"schema": "0.9"'),
        r"{base}/replay\.json: schema 0\.9 of replay files is no longer read; re-run or use an older assay",
    ),
    "plan of an older schema": (
        lambda place: place.of_another_schema("plan.jsonl", "0.9"),
        r"{base}/golden/plan\.jsonl: schema 0\.9 of plan files is no longer read; re-run or use an older assay",
    ),
    "replay of a newer schema": (
        lambda place: ["replay", place.file("x.json", '{"schema": "3.0", "file": "replay"}')],
        r"{base}/x\.json: written in schema 3\.0 of replay files, this assay reads up to 2\.x; use a newer assay",
    ),
}
"""What is wrong -> the arguments, and the sentence; `{base}` is the test's folder."""

TABLE = [(what, *row) for what, row in USAGE.items()]


def snapshot(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(("what", "arguments", "sentence"), TABLE, ids=[row[0] for row in TABLE])
def test_wrong_input_is_two_and_one_sentence(
    what: str,
    arguments: Arguments,
    sentence: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    del what
    asked = arguments(Place(tmp_path))
    before = snapshot(tmp_path)
    monkeypatch.chdir(tmp_path)
    code, told = _run(asked), capsys.readouterr()
    assert re.fullmatch("assay: " + sentence.replace("{base}", re.escape(str(tmp_path))) + "\n", told.err), told
    assert (code, told.out) == (2, "")
    assert snapshot(tmp_path) == before


# --- a client version that nobody has --------------------------------------------------------------------------------

NO_INDEX = {"UV_NO_INDEX": "1", "UV_FIND_LINKS": "."}
"""Packages come from the working directory, which has none."""


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "arguments",
    [
        lambda place: [*place.replay('"version": "3.13.0"', '"version": "99.0"')[:2]],
        lambda _: ["explore", "pulsar-python@99.0", "--cases", "1"],
    ],
    ids=["replay", "explore"],
)
def test_a_client_version_that_cannot_be_had_is_three_and_one_sentence(arguments: Arguments, tmp_path: Path) -> None:
    env = {**os.environ, **NO_INDEX, "ASSAY_CACHE": str(tmp_path / "cache")}
    asked = command_line(*arguments(Place(tmp_path)))
    told = subprocess.run(asked, cwd=tmp_path, env=env, capture_output=True, text=True, check=False, timeout=60)
    notes, sentence = told.stderr.splitlines()[:-1], told.stderr.splitlines()[-1]
    assert re.fullmatch(r"assay: pulsar-client==99\.0 does not exist: .+", sentence), told
    assert not any(note.startswith(("assay:", "Traceback")) for note in notes)
    assert (told.returncode, told.stdout, (tmp_path / "runs").exists()) == (3, "", False)


# --- a full disk ------------------------------------------------------------------------------------------------------

NO_ROOM = """
import resource, sys
limit = int(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
from assay_fixtures.cli import main
main(sys.argv[2:])
"""
"""The command where no file can grow beyond a limit. To whoever writes, it is a disk that is full."""

SENTENCE = re.compile(r"assay: (\S+): cannot be written: File too large; what came before it is kept")


ALONE = "resend/pending-sends@lz4"
"""A permutation brings no others along."""


def without_room(limit_bytes: int, *arguments: str, cwd: Path) -> tuple[int, list[str]]:
    """Exit code and stderr."""
    command = [sys.executable, "-c", NO_ROOM, str(limit_bytes), *arguments]
    # A .pyc that is cut short would stay behind: Python 3.11 keeps such a file, and fails on it from then on.
    # A cache of its own: what others were killed at would be tidied up first, which writes, too.
    env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "ASSAY_CACHE": str(cwd / "cache")}
    told = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False, timeout=60)
    return told.returncode, told.stderr.splitlines()


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("limit_bytes", "select", "file"),
    [
        (400, ALONE, "plan.jsonl"),
        (2_000, ALONE, "run.json"),
        (8_000, ALONE, f"history/{ALONE}/1.jsonl"),
        # Its history has 100,000 bytes; those of its permutations, which come along, have 62,000 at most.
        (80_000, "throttling/dispatch-rate", "history/throttling/dispatch-rate/1.jsonl"),
        (30_000, ALONE, "report.html"),
    ],
)
def test_full_disk_is_one_sentence_that_names_the_file(
    limit_bytes: int, select: str, file: str, tmp_path: Path
) -> None:
    code, told = without_room(limit_bytes, "certify", "reference", "--select", select, cwd=tmp_path)
    (folder,) = (tmp_path / "runs").iterdir()
    match = SENTENCE.fullmatch(told[-1])
    assert code == 4
    assert match is not None, told
    assert match[1] == str((folder / file).relative_to(tmp_path))
    assert not any(line.startswith(("assay:", "Traceback")) for line in told[:-1])
    assert list(folder.rglob("*.part")) == []


def test_whole_files_stay_whole_when_the_disk_is_full(tmp_path: Path) -> None:
    folder = Place(tmp_path).golden()
    before = snapshot(folder)
    code, told = without_room(3_000, "check", str(folder), cwd=tmp_path)
    assert code == 4
    assert SENTENCE.fullmatch(told[-1])
    assert snapshot(folder) == before


@pytest.mark.one_in(2)
def test_run_that_met_a_full_disk_says_that_it_is_partial(tmp_path: Path) -> None:
    without_room(8_000, "certify", "reference", "--select", "resend/pending-sends", cwd=tmp_path)
    (folder,) = (tmp_path / "runs").iterdir()
    told = subprocess.run(command_line("check", str(folder)), capture_output=True, check=False, timeout=60)
    assert told.returncode == 130
    assert json.loads((folder / "verdicts.json").read_text())["reasons"][0]["cause"] == "broken-off"
    assert os.listdir(folder / "history/resend/pending-sends") == ["1.jsonl"]


@pytest.mark.one_in(3)
def test_exploration_that_meets_a_full_disk_keeps_what_came_before(tmp_path: Path) -> None:
    code, told = without_room(20_000, "explore", "reference", "--cases", "60", "--seed", "3", cwd=tmp_path)
    (folder,) = (tmp_path / "runs").iterdir()
    sentence, _, advice = told[-1].partition("; make room there and explore again")
    match = SENTENCE.fullmatch(sentence)
    assert (code, advice) == (4, ", or name a folder on another disk with --run-dir")
    assert match is not None, told
    assert match[1].startswith(str(folder.relative_to(tmp_path)))
    assert (folder / "explored.jsonl").stat().st_size > 0
