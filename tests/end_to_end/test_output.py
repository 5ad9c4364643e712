"""Where output goes when it cannot go anywhere, and what it looks like in a terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import shutil
import struct
import subprocess
import termios
from pathlib import Path

import pytest
from tests.end_to_end.running import GOLDEN, command_line

LISTS = [("list", "requirements"), ("list", "requirements", "--json"), ("list", "cases")]


@pytest.mark.few(1)
@pytest.mark.parametrize("arguments", LISTS, ids=" ".join)
def test_output_that_cannot_be_written_is_ours_and_says_so(arguments: tuple[str, ...]) -> None:
    with Path("/dev/full").open("w") as full:
        told = subprocess.run(
            command_line(*arguments), stdout=full, stderr=subprocess.PIPE, text=True, check=False, timeout=60
        )
    assert told.stderr == "assay: standard output cannot be written: No space left on device\n"
    assert told.returncode == 4


@pytest.mark.few(1)
@pytest.mark.parametrize("arguments", LISTS, ids=" ".join)
def test_reader_that_has_enough_ends_the_command_quietly(arguments: tuple[str, ...]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        told = subprocess.run(
            command_line(*arguments), stdout=writer, stderr=subprocess.PIPE, text=True, check=False, timeout=60
        )
    finally:
        os.close(writer)
    assert (told.returncode, told.stderr) == (141, "")


def in_a_terminal(columns: int, folder: Path, *arguments: str) -> list[str]:
    """The lines a terminal of that width shows, without their colours."""
    mine, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    names = {"COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR"}
    environment = {**{n: v for n, v in os.environ.items() if n not in names}, "TERM": "xterm-256color"}
    process = subprocess.Popen(
        command_line(*arguments), cwd=folder, stdin=theirs, stdout=theirs, stderr=theirs, env=environment
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            data = os.read(mine, 1 << 16)
        except OSError:  # Linux says so when the other side has closed
            break
        if not data:
            break
        shown += data
    os.close(mine)
    process.wait(30)
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.decode()).splitlines()


COMMANDS = [("check", "golden"), ("list", "requirements"), ("list", "cases")]


@pytest.mark.few(3)
@pytest.mark.parametrize("columns", [80, 120])
@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_lines_fit_the_terminal_and_end_with_their_text(
    columns: int, arguments: tuple[str, ...], tmp_path: Path
) -> None:
    shutil.copytree(GOLDEN / "1.0", tmp_path / "golden")
    shown = in_a_terminal(columns, tmp_path, *arguments)
    assert len(shown) > 5
    assert [line for line in shown if line != line.rstrip()] == []
    assert max(map(len, shown)) <= columns


CERTIFIES = ("certify", "reference", "--select", "delivery/sends-after-outage", "--run-dir")


@pytest.mark.few(2)
@pytest.mark.parametrize("redirected", [">/dev/full 2>&1", "2>/dev/full", ">/dev/full", "<&- >&- 2>&-", "<&-", "2>&-"])
def test_a_verdict_stands_wherever_output_goes(redirected: str, tmp_path: Path) -> None:
    ended = subprocess.run(
        ["/bin/sh", "-c", f'exec "$@" {redirected}', "sh", *command_line(*CERTIFIES, str(tmp_path))],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
        timeout=120,
    )
    assert ended.returncode == 0


@pytest.mark.few(3)
@pytest.mark.parametrize(("arguments", "code"), [(("doctor",), 0), (("certify", "--nope"), 2), (("list", "cases"), 0)])
@pytest.mark.parametrize("redirected", ["2>/dev/full", "<&- >&- 2>&-"])
def test_notes_that_cannot_be_shown_change_no_exit_code(arguments: tuple[str, ...], code: int, redirected: str) -> None:
    ended = subprocess.run(
        ["/bin/sh", "-c", f'exec "$@" {redirected}', "sh", *command_line(*arguments)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
        timeout=120,
    )
    assert ended.returncode == code
