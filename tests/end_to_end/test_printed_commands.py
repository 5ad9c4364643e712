"""Commands that the README and the pages of docs/ print: run as printed where a test can, else their words are read."""

from __future__ import annotations

import fcntl
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import click
import pytest
from tests.printed import ended, read_by_its_help

from assay_fixtures.cli import assay
from assay_fixtures.documents.commands import NOT_RUN, READ_WITH_SPARK, Printed, printed, why_not_run

ROOT = Path(__file__).parents[2]
RUN: Final = "assay certify pulsar-python --select dedup"
"""Printed in the README. The other commands about runs are about what it leaves."""
EXIT_CODES: Final = {"assay replay": 1}
"""STILL FAILS: what is listed for the client fails again."""

REQUIREMENT: Final = "resend.keeps-queue-order"

COMMANDS = printed()
IN_FULL = list(dict.fromkeys(one.text for one in COMMANDS if not why_not_run(one.text)))
ONLY_READ = list(dict.fromkeys(one.text for one in COMMANDS if why_not_run(one.text) not in ("", READ_WITH_SPARK)))


@pytest.fixture(scope="session")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What RUN leaves. It is made once, whichever worker of pytest-xdist needs it first."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "printed-commands"
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "runs").exists():
            assert ended(RUN, folder)[0] == 0
    (run,) = (folder / "runs").iterdir()
    return run


def laid_out(text: str, run: Path, folder: Path) -> str:
    """The command with what its placeholders stand for: that run, its first replay file, and the Case of that."""
    replay = next((run / "replay").rglob("*.json")).relative_to(run)
    shutil.copy(run / replay, folder / "FILE")
    for name in ("ID", "20260601-101500", "old/one", "new/one"):
        if f"runs/{name.partition('/')[0]}" in text:
            shutil.copytree(run, folder / "runs" / name)
    for name, value in {
        "replay/CASE.json": str(replay),
        "replay/resend/cut-after-second-receipt.json": str(replay),
        "CASE": str(replay.relative_to("replay").with_suffix("")),
    }.items():
        text = text.replace(name, value)
    return text


@pytest.mark.few(7)
@pytest.mark.parametrize("text", [text for text in IN_FULL if text != RUN])
def test_command_runs_as_printed(text: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    named = any(name in text for name in ("runs/", "FILE"))
    command = text.replace("explain ID", f"explain {REQUIREMENT}")
    if named:
        command = laid_out(command, request.getfixturevalue("run_folder"), tmp_path)
    code, told = ended(command, tmp_path)
    expected = next((code for start, code in EXIT_CODES.items() if text.startswith(start)), 0)
    assert (code, told != "") == (expected, True), told


@pytest.mark.parametrize("text", ONLY_READ)
def test_command_that_is_not_run_has_words_and_options_that_exist(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for words in parts(text):
        lay_out(words)
        program, *arguments = words
        if program == "assay":
            read_by_click(assay, "assay", arguments)
        elif program == "pytest":
            read_by_pytest(arguments)
        elif words[:2] == ["python", "-m"]:
            read_by_its_help(arguments)
    assert subprocess.run(["bash", "-n", "-c", text], check=False).returncode == 0


def test_every_reason_is_given_for_a_command() -> None:
    given = {why_not_run(one.text) for one in COMMANDS}
    assert {reason for _, reason in NOT_RUN} - given == set()


@pytest.mark.parametrize("name", ["certify", "soak", "ledger synth", "explore", "broker"])
def test_option_that_does_not_exist_is_noticed(name: str) -> None:
    with pytest.raises(click.UsageError):
        read_by_click(assay, "assay", [*name.split(), "reference", "--no-such-option"])


def test_examples_of_every_help_have_words_and_options_that_exist(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    examples = [words for command in commands_of(assay) for words in examples_of(command)]
    assert len(examples) > 20
    for words in examples:
        lay_out(words)
        read_by_click(assay, "assay", words[1:])


# --- reading ----------------------------------------------------------------------------------------------------------


def parts(text: str) -> list[list[str]]:
    """The commands of a line, each in words."""
    return [shlex.split(part) for part in re.split(r"&&|&$", text) if part.strip()]


def lay_out(words: Sequence[str]) -> None:
    """Files and folders that an option may want to exist, under the names that the page gives them."""
    for word in words:
        path = Path(word)
        if word == "T" or path.suffix in (".whl", ".toml", ".pem", ".json", ".conf", ".jsonl"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
        elif word.startswith(("runs/", "DIR", "LEDGER", "big", "night", "orders", "soak-1")):
            path.mkdir(parents=True, exist_ok=True)


def read_by_click(command: click.Command, name: str, arguments: list[str], parent: click.Context | None = None) -> None:
    """Read the arguments as the command would, and do nothing. click.UsageError for what it would refuse."""
    context = command.make_context(name, arguments, parent=parent)
    if isinstance(command, click.Group):
        sub_name, sub, rest = command.resolve_command(context, [*context._protected_args, *context.args])
        assert sub is not None
        read_by_click(sub, sub_name or "", rest, context)


def read_by_pytest(arguments: list[str]) -> None:
    ended = subprocess.run([sys.executable, "-m", "pytest", *arguments, "--version"], cwd=ROOT, check=False, timeout=60)
    assert ended.returncode == 0


def commands_of(command: click.Command) -> Iterator[click.Command]:
    yield command
    for sub in getattr(command, "commands", {}).values():
        yield from commands_of(sub)


def examples_of(command: click.Command) -> list[list[str]]:
    lines = map(str.strip, (command.epilog or "").splitlines())
    # A remark is set off by spaces; what follows a pipe, or goes into a file, is no part of the command.
    return [shlex.split(re.split(r"  +| [|>&]", line)[0]) for line in lines if line.startswith("assay ")]


def test_commands_are_found_where_pages_print_them() -> None:
    assert Printed("docs/write-an-agent.md", "assay agent check path/to/agent.toml") in COMMANDS
    assert Printed("README.md", RUN) in COMMANDS
