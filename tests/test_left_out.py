"""What is left out of a session of tests for lack of means is said, and fails where everything is to be there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests import left_out
from tests.left_out import HOW, Need

pytest_plugins = ["pytester"]

ONE_IS_LEFT_OUT = """
import pytest
def test_it(): pytest.skip("left out: Chromium: apt install chromium (there is none)")
def test_other(): pytest.skip("not of this system")
def test_third(): pass
"""
LEFT = "Chromium: apt install chromium (there is none)"


@pytest.fixture(autouse=True)
def nothing_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(left_out.COMPLETE_VARIABLE, raising=False)
    monkeypatch.delenv(left_out.FILE_VARIABLE, raising=False)


def session(pytester: pytest.Pytester) -> pytest.RunResult:
    pytester.makepyfile(ONE_IS_LEFT_OUT)
    return pytester.runpytest_inprocess("-p", "no:assay", plugins=[left_out.LeftOut()])


def test_a_session_ends_with_what_it_left_out(pytester: pytest.Pytester) -> None:
    told = session(pytester)
    told.stdout.fnmatch_lines(["left out:", f"  1 test for lack of {LEFT}"])
    assert told.ret == 0


def test_anything_left_out_fails_where_everything_is_to_be_there(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(left_out.COMPLETE_VARIABLE, "1")
    assert session(pytester).ret == 1


def test_a_session_writes_what_it_left_out(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(left_out.FILE_VARIABLE, str(tmp_path / "new" / "a.json"))
    session(pytester)
    assert json.loads((tmp_path / "new" / "a.json").read_text()) == {LEFT: 1}


def test_what_sessions_left_out_is_added_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.json").write_text(json.dumps({"x": 1, "y": 2}))
    (tmp_path / "b.json").write_text(json.dumps({"x": 3}))
    assert left_out.main(tmp_path) == 0
    assert capsys.readouterr().out == "left out:\n  4 tests for lack of x\n  2 tests for lack of y\n"


def test_sessions_that_left_out_something_fail_where_everything_is_to_be_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(left_out.COMPLETE_VARIABLE, "1")
    (tmp_path / "a.json").write_text(json.dumps({"x": 1}))
    assert left_out.main(tmp_path) == 1


def test_where_nothing_was_left_out_that_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (left_out.main(tmp_path), capsys.readouterr().out) == (0, "nothing was left out\n")


def test_every_need_says_how_it_is_met() -> None:
    assert set(HOW) == set(Need)
