"""Verdicts as pytest shows them, in one session with a Case for each: terminal, JUnit, exit code."""

from __future__ import annotations

import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.end_to_end.running import HERE, agent_toml

from assay_fixtures.runner.folder import StoredRun

EXPECTATIONS = """
schema = "2.0"
agent = "reference"
tested = "*"
[[deviation]]
id = "told.aside-told-aside"
title = "it is known to do that"
versions = "*"
reason = "it is known to do that"

[[deviation.seen]]
requirement = "told.aside"
code = "told-aside"
cases = ["told/pass"]
[[deviation]]
id = "told.fail-never-seen"
title = "it was known to do that"
versions = "*"
reason = "it was known to do that"

[[deviation.seen]]
requirement = "told.fail"
code = "never-seen"
cases = ["told/warn"]
"""


@dataclass(frozen=True)
class Session:
    """A pytest session over the pack of verdicts: its exit code, its terminal, and its JUnit file."""

    code: int
    text: str
    cases: dict[str, ET.Element]
    folder: Path


def session(folder: Path, *arguments: str, expectations: str = EXPECTATIONS) -> Session:
    agent = agent_toml(folder, "{python}", "-m", "assay_fixtures.reference")
    (folder / "expectations.toml").write_text(expectations)
    command = [sys.executable, "-m", "pytest", "--pyargs", "assay_conformance.suite", "--assay-agent", str(agent)]
    options = ["-p", "no:cacheprovider", "--junitxml", "junit.xml", "-rA", *arguments]
    names = {name for name in os.environ if name.startswith("PYTEST_")}
    environment = {name: value for name, value in os.environ.items() if name not in names}
    told = subprocess.run(
        [*command, *options],
        cwd=folder,
        env={**environment, "PYTHONPATH": str(HERE / "told_pack")},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    cases = {
        str(case.get("name")).partition("[")[2][:-1]: case for case in ET.parse(folder / "junit.xml").iter("testcase")
    }
    return Session(told.returncode, told.stdout, cases, folder)


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Session:
    return session(tmp_path_factory.mktemp("told"), "-k", "told")


ENDS = {
    "told.pass in told/pass": (None, ""),
    "told.warn in told/warn": (None, ""),
    "told.fail in told/fail": ("failure", "told.fail: told-fail: this is a fail"),
    "told.untestable in told/untestable": ("failure", "untestable: the Case ended without its precondition"),
    "told.inconclusive in told/inconclusive": ("error", "inconclusive: nobody knows"),
    "told.harness-error in told/harness-error": ("error", "its check crashed: ZeroDivisionError: told to"),
    "told.invalid in told/invalid": ("error", "invalid: fault 0 of the Case never fired"),
    "told.unsupported in told/unsupported": ("skipped", "the agent declares no told/flies"),
    "others in told/pass": ("skipped", "it is known to do that"),
    "others in told/warn": ("failure", "told.fail in told/warn: never-seen is listed as a failure and passes"),
    "others in told/fail": (None, ""),
}
"""Item -> what its JUnit testcase holds, and a part of the text."""


@pytest.mark.parametrize("name", ENDS)
def test_verdict_is_what_junit_readers_expect(told: Session, name: str) -> None:
    tag, text = ENDS[name]
    found = [child for child in told.cases[name] if child.tag in ("failure", "error", "skipped")]
    assert [child.tag for child in found] == ([] if tag is None else [tag])
    assert text in "".join(f"{child.get('message')}{child.text}" for child in found)


def test_listed_failure_is_an_xfail(told: Session) -> None:
    assert told.cases["others in told/pass"][1].get("type") == "pytest.xfail"
    assert "XFAIL test_certification.py::test_other_requirements[others in told/pass]" in told.text


def test_broken_should_is_a_pytest_warning(told: Session) -> None:
    assert "AssayWarning: told.warn: told-warn: this is a warn" in told.text


def test_no_failure_comes_with_a_traceback(told: Session) -> None:
    assert "Traceback" not in told.text


def test_session_names_its_run(told: Session) -> None:
    (folder,) = (told.folder / "runs").iterdir()
    assert f"assay: run runs/{folder.name}, page runs/{folder.name}/report.html" in told.text


def test_junit_tells_how_often_the_precondition_occurred(told: Session) -> None:
    properties = told.cases["told.pass in told/pass"].find("properties")
    assert properties is not None
    assert [(one.get("name"), one.get("value")) for one in properties] == [("assay_exercised", "1")]


def test_items_of_a_case_take_as_long_as_the_case(told: Session) -> None:
    (folder,) = (told.folder / "runs").iterdir()
    own, others = (float(told.cases[f"{who} in told/pass"].get("time", "")) for who in ("told.pass", "others"))
    *_, last = StoredRun(folder).history("told/pass", 1)
    assert own == pytest.approx(others, abs=0.005)
    assert own > last.t_ns / 1e9


def test_session_that_exercised_nothing_fails(tmp_path: Path) -> None:
    told = session(
        tmp_path, "-k", "told.unsupported", expectations='schema = "2.0"\nagent = "reference"\ntested = "*"\n'
    )
    assert told.code == pytest.ExitCode.TESTS_FAILED
    assert "1 skipped" in told.text
    assert "assay: no requirement's precondition occurred in any Case" in told.text
