"""`pytest --pyargs assay_conformance.suite --assay-agent AGENT`, as a user of pytest meets it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from tests.end_to_end.processes import alive, descendants, eventually
from tests.end_to_end.running import HERE, agent_toml, mutant

from assay_conformance.model.event import Began, Ended
from assay_conformance.model.needs import means
from assay_fixtures.certification import FRAMES
from assay_fixtures.packs import load_packs
from assay_fixtures.runner.folder import StoredRun

pytest_plugins = ["pytester"]

SUITE = ("--pyargs", "assay_conformance.suite", "-p", "no:cacheprovider", "-p", "no:hypothesispytest")
"""Neither what pytest remembers nor Hypothesis, whose plugin takes a second to begin, has a part in what is tried."""

RESEND_AND_ACK = "resend/same-message or resend/queue-order or ack/continuous-acks"


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


def ids(tier: str) -> list[str]:
    """Every item of the reference client, which declares what all Cases need: requirements, and others."""
    plain = [case for case in load_packs().cases if means(case) <= FRAMES]
    cases = [case for case in plain if tier == "full" or case.tier.value == "fast"]
    own = [f"{requirement} in {case.id}" for case in cases for requirement in case.requirements]
    return own + [f"others in {case.id}" for case in cases]


def items() -> int:
    return len(ids("fast"))


def junit(pytester: pytest.Pytester) -> dict[str, str]:
    """Item -> how JUnit says it ended."""
    cases = ET.parse(pytester.path / "junit.xml").iter("testcase")
    ends = {case: [child.tag for child in case if child.tag != "properties"] for case in cases}
    return {str(case.get("name")).partition("[")[2][:-1]: (*tags, "passed")[0] for case, tags in ends.items()}


@pytest.mark.one_in(2)
def test_there_is_an_item_for_each_requirement_and_case_and_one_for_the_others(pytester: pytest.Pytester) -> None:
    told = certify(pytester, "--assay-agent", "reference", "--assay-tier", "full", "--collect-only", "-q")
    assert [line.partition("[")[2][:-1] for line in told.outlines if "::test_" in line] == ids("full")


@pytest.mark.one_in(2)
def test_collecting_runs_nothing(pytester: pytest.Pytester) -> None:
    certify(pytester, "--assay-agent", "reference", "--collect-only", "-q")
    assert not (pytester.path / "runs").exists()


@pytest.mark.one_in(2)
def test_client_that_keeps_everything_passes_every_item(pytester: pytest.Pytester) -> None:
    certify(pytester, "--assay-agent", "reference", "-k", RESEND_AND_ACK).assert_outcomes(
        passed=6, deselected=items() - 6
    )


@pytest.mark.one_in(2)
def test_only_cases_of_selected_items_run_and_they_run_side_by_side(pytester: pytest.Pytester) -> None:
    certify(pytester, "--assay-agent", "reference", "-k", RESEND_AND_ACK)
    stored = only_run(pytester)
    assert set(stored.plan) == {"resend/same-message", "resend/queue-order", "ack/continuous-acks"}
    spans_ms = []
    for case in stored.plan:
        first, *_, last = stored.history(case, 1)
        assert isinstance(first, Began)
        assert isinstance(last, Ended)
        spans_ms.append((first.unix_ms, first.unix_ms + last.t_ns / 1e6))
    assert max(began for began, _ in spans_ms) < min(ended for _, ended in spans_ms)


@pytest.mark.one_in(2)
def test_broken_client_fails_wherever_it_shows(pytester: pytest.Pytester) -> None:
    agent = mutant(pytester.path / "agent", "resend-changes-metadata")
    told = certify(pytester, "--assay-agent", agent, "-k", RESEND_AND_ACK, "-rf")
    told.assert_outcomes(passed=4, failed=2, deselected=items() - 6)
    told.stdout.fnmatch_lines(
        [
            "FAILED *test_requirement[[]resend.identical-bytes in resend/same-message]*",
            "FAILED *test_other_requirements[[]others in resend/queue-order]*",
        ]
    )


# --- which Cases, when ------------------------------------------------------------------------------------------------


@pytest.mark.one_in(2)
def test_cases_start_when_the_first_item_is_set_up_and_not_before(pytester: pytest.Pytester) -> None:
    before = pytester.makepyfile(
        test_before="""
        from pathlib import Path

        def test_of_somebody_else():
            assert not Path("runs").exists()
        """
    )
    words = ("--assay-agent", "reference", "-k", "somebody or ack/continuous-acks")
    told = pytester.runpytest_subprocess(before, *SUITE, *words, timeout=120)
    told.assert_outcomes(passed=3, deselected=items() - 2)
    assert set(only_run(pytester).plan) == {"ack/continuous-acks"}


@pytest.mark.one_in(2)
def test_mark_selects_by_chapter_level_and_tier(pytester: pytest.Pytester) -> None:
    words = ("-m", "assay(chapter='resend', level='MUST', tier='fast')", "--strict-markers")
    told = certify(pytester, "--assay-agent", "reference", "--collect-only", "-q", *words)
    pack = load_packs()
    stated = pack.catalogue.requirements
    musts = [name for name in ids("fast") if name.startswith("resend.") and stated[name.split()[0]].level == "MUST"]
    assert [line.partition("[")[2][:-1] for line in told.outlines if "::test_" in line] == musts


@pytest.mark.one_in(2)
def test_last_failed_runs_the_failed_items_case_alone(pytester: pytest.Pytester) -> None:
    agent = mutant(pytester.path / "agent", "resend-changes-metadata")
    chosen = "resend/same-message or ack/continuous-acks"
    words = ("--pyargs", "assay_conformance.suite", "--assay-agent", agent, "-k", chosen)
    pytester.runpytest_subprocess(*words, "--assay-run-dir", "first", timeout=120).assert_outcomes(
        passed=3, failed=1, deselected=items() - 4
    )
    told = pytester.runpytest_subprocess(*words, "--lf", timeout=120)
    told.assert_outcomes(failed=1, deselected=items() - 1)
    assert set(only_run(pytester).plan) == {"resend/same-message"}


@pytest.mark.few(1)
@pytest.mark.parametrize("option", ["-x", "--maxfail=1"])
def test_first_failure_cancels_the_rest_of_the_run(
    option: str, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The other Case waits for a day: however late pytest hears of the failure, it is under way then.
    monkeypatch.setenv("PYTHONPATH", str(HERE / "endless_pack"))
    told = certify(pytester, "--assay-agent", "reference", "-k", "endless/fails or endless/lasts", option)
    assert told.parseoutcomes().keys() == {"failed", "deselected"}
    stored = only_run(pytester)
    assert stored.info.interrupted
    assert {judgement.case for judgement in stored.judgements()} == {"endless/fails"}
    assert set(stored.plan) == {"endless/fails", "endless/lasts"}


@pytest.mark.one_in(2)
def test_session_that_ends_in_good_order_does_not_interrupt_its_run(pytester: pytest.Pytester) -> None:
    certify(pytester, "--assay-agent", "reference", "-k", "ack/continuous-acks")
    stored = only_run(pytester)
    assert (stored.info.interrupted, stored.info.ended_unix_ms is None) == (False, False)


@pytest.mark.one_in(2)
def test_processes_of_xdist_share_one_run(pytester: pytest.Pytester) -> None:
    agent = mutant(pytester.path / "agent", "resend-changes-metadata")
    words = ("--assay-agent", agent, "-k", RESEND_AND_ACK, "-n", "2", "--junitxml", "junit.xml")
    told = certify(pytester, *words)
    told.assert_outcomes(passed=4, failed=2)
    stored = only_run(pytester)
    assert set(stored.plan) == {"resend/same-message", "resend/queue-order", "ack/continuous-acks"}
    # One that a busy machine left open is run again, and then the second attempt counts alone.
    counted = {(told.case, told.attempt) for told in stored.judgements() if not told.superseded}
    assert sorted(case for case, _ in counted) == sorted(stored.plan)
    failed = {name for name, end in junit(pytester).items() if end == "failure"}
    assert failed == {"resend.identical-bytes in resend/same-message", "others in resend/queue-order"}
    told.stdout.fnmatch_lines([f"assay: run runs/{stored.path.name}, page *"])


@pytest.mark.one_in(2)
def test_session_of_xdist_that_exercised_nothing_fails(pytester: pytest.Pytester) -> None:
    words = ("--assay-agent", agent_that_only_sends(pytester.path), "-k", "ack/continuous-acks", "-n", "2")
    told = certify(pytester, *words)
    told.assert_outcomes(skipped=1)
    assert told.ret is pytest.ExitCode.TESTS_FAILED
    told.stdout.fnmatch_lines(["assay: no requirement's precondition occurred in any Case"])


def agent_that_only_sends(folder: Path) -> Path:
    path = agent_toml(folder / "agent", "{python}", "-m", "assay_fixtures.reference")
    text = path.read_text()
    start, end = text.index("capabilities = ["), text.index("]", text.index("capabilities = [")) + 1
    path.write_text(text[:start] + 'capabilities = ["producer"]' + text[end:])
    return path


@pytest.mark.one_in(2)
def test_agent_that_does_not_come_up_is_an_error_with_its_sentence(pytester: pytest.Pytester) -> None:
    agent = agent_toml(pytester.path / "agent", "false")
    told = certify(pytester, "--assay-agent", agent, "-k", "ack/continuous-acks")
    told.assert_outcomes(errors=2, deselected=items() - 2)
    told.stdout.fnmatch_lines(
        ["ack/continuous-acks was not judged: no Case was run, since the agent did not come up: *"]
    )


@pytest.mark.few(1)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda number: number.name)
def test_session_that_is_ended_takes_its_run_with_it(number: signal.Signals, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pytest", *SUITE, "--assay-agent", "reference", "-k", "throttling/overshoot"]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, start_new_session=True)
    started: set[int] = set()

    def running() -> bool:
        started.update(descendants(process.pid))
        return bool(list(tmp_path.glob("runs/*/history/throttling/overshoot-is-repaid/1.jsonl")))

    try:
        eventually(running, "a Case that runs", 60)
        process.send_signal(number)
        process.wait(30)
        eventually(lambda: not any(map(alive, started)), "the end of the run and its agents", 10)
    finally:
        process.kill()
    (folder,) = (tmp_path / "runs").iterdir()
    assert StoredRun(folder).info.interrupted
    assert len(started) >= 2


# --- wrong options, and none ------------------------------------------------------------------------------------------


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "the assay suite needs --assay-agent, e.g. --assay-agent pulsar-python"),
        (("--assay-agent", "nobody"), "agent 'nobody' is unknown; expected one of *"),
        (
            ("--assay-agent", "reference", "--assay-wheel", "x.whl"),
            "agent reference: its client is not assay's to install *",
        ),
        (("--assay-agent", "reference", "--assay-expectations", "x.toml"), "x.toml: cannot be read: *"),
    ],
)
def test_wrong_option_is_a_usage_error(arguments: tuple[str, ...], sentence: str, pytester: pytest.Pytester) -> None:
    told = certify(pytester, *arguments)
    assert told.ret is pytest.ExitCode.USAGE_ERROR
    told.stderr.fnmatch_lines([f"ERROR: {sentence}"])
    assert not (pytester.path / "runs").exists()


@pytest.mark.one_in(2)
def test_wrong_option_is_told_by_workers_of_xdist_too(pytester: pytest.Pytester) -> None:
    told = certify(pytester, "--assay-agent", "nobody", "-n", "2")
    told.assert_outcomes(errors=2)
    told.stdout.fnmatch_lines(["agent 'nobody' is unknown; expected one of *"])


@pytest.mark.one_in(2)
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
