"""`pytest --pyargs assay_conformance.suite --assay-agent AGENT`, as a user of pytest meets it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.end_to_end.running import mutant

from assay_conformance.client import Mutation
from assay_conformance.model.event import Began, Ended
from assay_fixtures.packs import load_packs
from assay_fixtures.runner.folder import StoredRun

pytest_plugins = ["pytester"]

SUITE = ("--pyargs", "assay_conformance.suite", "-p", "no:cacheprovider")
RESEND_AND_ACK = "resend/same-message or resend/queue-order or ack/one-interval"


@pytest.fixture(autouse=True)
def _in_a_process_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    # What this pytest was told is not for the one inside.
    for name in ("PYTEST_ADDOPTS", "PYTEST_XDIST_WORKER", "PYTEST_XDIST_WORKER_COUNT", "PYTEST_XDIST_TESTRUNUID"):
        monkeypatch.delenv(name, raising=False)


def certify(pytester: pytest.Pytester, *arguments: str | Path) -> pytest.RunResult:
    return pytester.runpytest_subprocess(*SUITE, *arguments, timeout=120)


def only_run(pytester: pytest.Pytester) -> StoredRun:
    (folder,) = (pytester.path / "runs").iterdir()
    return StoredRun(folder)


def items() -> int:
    """Items of the fast tier."""
    return sum(len(case.requirements) for case in load_packs().cases if case.tier.value == "fast")


def test_there_is_one_item_for_each_requirement_and_case(pytester: pytest.Pytester) -> None:
    told = certify(pytester, "--assay-agent", "reference", "--assay-tier", "full", "--collect-only", "-q")
    items = {line.partition("[")[2].rstrip("]") for line in told.outlines if "test_requirement[" in line}
    assert items == {f"{requirement} in {case.id}" for case in load_packs().cases for requirement in case.requirements}


def test_collecting_runs_nothing(pytester: pytest.Pytester) -> None:
    certify(pytester, "--assay-agent", "reference", "--collect-only", "-q")
    assert not (pytester.path / "runs").exists()


def test_client_that_keeps_everything_passes_every_item(pytester: pytest.Pytester) -> None:
    certify(pytester, "--assay-agent", "reference", "-k", RESEND_AND_ACK).assert_outcomes(
        passed=3, deselected=items() - 3
    )


def test_only_cases_of_selected_items_run_and_they_run_side_by_side(pytester: pytest.Pytester) -> None:
    certify(pytester, "--assay-agent", "reference", "-k", RESEND_AND_ACK)
    stored = only_run(pytester)
    assert set(stored.plan) == {"resend/same-message", "resend/queue-order", "ack/one-interval"}
    spans_ms = []
    for case in stored.plan:
        first, *_, last = stored.history(case, 1)
        assert isinstance(first, Began)
        assert isinstance(last, Ended)
        spans_ms.append((first.unix_ms, first.unix_ms + last.t_ns / 1e6))
    assert max(began for began, _ in spans_ms) < min(ended for _, ended in spans_ms)


def test_broken_client_fails_exactly_the_items_it_breaks(pytester: pytest.Pytester) -> None:
    agent = mutant(pytester.path / "agent", Mutation.RESTAMPS_RESEND)
    told = certify(pytester, "--assay-agent", agent, "-k", RESEND_AND_ACK, "-rf")
    told.assert_outcomes(passed=2, failed=1, deselected=items() - 3)
    told.stdout.fnmatch_lines(["FAILED *test_requirement[[]resend.same-unit in resend/same-message]*"])
    told.stdout.no_fnmatch_line("*Traceback*")


def test_listed_failure_is_an_expected_one(pytester: pytest.Pytester) -> None:
    agent = mutant(pytester.path / "agent", Mutation.RESTAMPS_RESEND)
    certify(pytester, "--assay-agent", agent, "-k", "resend/same-message")
    (finding,) = {f.code for j in only_run(pytester).judgements() for f in j.findings}
    (agent.parent / "expectations.toml").write_text(
        f'schema = "1.0"\nagent = "reference"\ntested = "*"\n[[expect]]\nrequirement = "resend.same-unit"\n'
        f'case = "resend/same-message"\ncode = "{finding}"\nversions = "*"\nreason = "known"\n'
    )
    told = certify(pytester, "--assay-agent", agent, "-k", "resend/same-message")
    told.assert_outcomes(xfailed=1, deselected=items() - 1)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "the assay suite needs --assay-agent, e.g. --assay-agent pulsar-python"),
        (("--assay-agent", "nobody"), "agent 'nobody' is unknown; expected one of *"),
        (
            ("--assay-agent", "reference", "--assay-wheel", "x.whl"),
            "agent reference comes with the bench: expected no wheel",
        ),
        (("--assay-agent", "reference", "--assay-expectations", "x.toml"), "x.toml: expected a readable UTF-8 file: *"),
    ],
)
def test_wrong_option_is_a_usage_error(arguments: tuple[str, ...], sentence: str, pytester: pytest.Pytester) -> None:
    told = certify(pytester, *arguments)
    assert told.ret is pytest.ExitCode.USAGE_ERROR
    told.stderr.fnmatch_lines([f"ERROR: {sentence}"])
    assert not (pytester.path / "runs").exists()


def test_plugin_that_is_not_used_imports_nothing(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import json, sys

        def test_of_somebody_else():
            print(json.dumps([name for name in sys.modules if name.startswith("assay_") or name == "msgspec"]))
        """
    )
    told = pytester.runpytest_subprocess("-s", "-q", "-p", "no:cacheprovider")
    told.assert_outcomes(passed=1)
    (imported,) = (json.loads(line.rstrip(".")) for line in told.outlines if line.startswith("["))
    assert sorted(imported) == ["assay_fixtures", "assay_fixtures.plugin"]
