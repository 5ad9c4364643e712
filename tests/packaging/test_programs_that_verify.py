"""Programs in tests/, bench/ and fuzz/ that verify something: one that finds nothing to verify does not end with 0."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from assay_fixtures.verified import NOTHING_TRIED, exit_code

ROOT = Path(__file__).parents[2]
_OWN_CODE = re.compile(r"^    return (0 if .* else 1|1 if .* else 0|int\(.*\))$", re.MULTILINE)
_MAIN = re.compile(r"^def main\(.*?(?=^\S)", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(("tried", "wrong", "code"), [(3, 0, 0), (3, 1, 1), (0, 0, NOTHING_TRIED), (0, 1, 1)])
def test_exit_code_says_what_was_shown(tried: int, wrong: int, code: int) -> None:
    assert exit_code(tried, wrong, "lives") == code


@pytest.mark.parametrize(
    "command",
    [
        ("-m", "tests.replay", "{empty}"),
        ("-m", "tests.replay", "{empty}/missing"),
        ("fuzz/lives.py", "--lives", "0"),
        ("fuzz/permutations.py", "--select", "no-such-case"),
        ("fuzz/wire.py", "--inputs", "0"),
    ],
    ids=" ".join,
)
def test_program_that_finds_nothing_says_so_and_does_not_pass(command: tuple[str, ...], tmp_path: Path) -> None:
    words = [word.format(empty=tmp_path) for word in command]
    ended = subprocess.run([sys.executable, *words], cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)
    assert (ended.returncode, "nothing was verified: there were no" in ended.stderr) == (NOTHING_TRIED, True), ended


def test_every_program_that_judges_ends_by_the_same_rule() -> None:
    programs = [
        path for folder in ("tests/replay", "tests/real", "bench", "fuzz") for path in (ROOT / folder).rglob("*.py")
    ]
    mains = {path.relative_to(ROOT): main for path in programs for main in _MAIN.findall(path.read_text("utf-8"))}
    # bench/reduction.py counts what it does not find as a failure.
    own = {str(path) for path, main in mains.items() if _OWN_CODE.search(main)}
    assert (len(mains) > 10, own) == (True, {"bench/reduction.py"})
