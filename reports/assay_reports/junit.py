"""junit.xml: one test case for each requirement in each Case, as CI systems read it.

`failure` is what counts against the client (or the expectations file), `error` is what could not be judged, `skipped`
is what does not count: unsupported, unavailable, and failures that are listed.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from enum import StrEnum

from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite

from assay_conformance.model.verdict import VOID, Expected, Verdict
from assay_reports.expectation_matching import FAILS_THE_RUN, Cell, EntryState
from assay_reports.report import Failure as ShownFailure
from assay_reports.report import Report
from assay_reports.text import clean, ms, one_line


class Result(StrEnum):
    PASSED = "passed"
    FAILURE = "failure"
    ERROR = "error"
    SKIPPED = "skipped"


OF_VERDICT: dict[Verdict, Result] = {
    Verdict.PASS: Result.PASSED,
    Verdict.WARN: Result.PASSED,
    Verdict.INFO: Result.PASSED,
    Verdict.UNSUPPORTED: Result.SKIPPED,
    Verdict.UNAVAILABLE: Result.SKIPPED,
    Verdict.FAIL: Result.FAILURE,
    Verdict.UNTESTABLE: Result.FAILURE,
    Verdict.INCONCLUSIVE: Result.ERROR,
    Verdict.INVALID: Result.ERROR,
    Verdict.HARNESS_ERROR: Result.ERROR,
}

OF_STATE: dict[Expected, Result] = {
    Expected.EXPECTED_FAIL: Result.SKIPPED,
    Expected.STALE: Result.FAILURE,
    Expected.EXPIRED: Result.FAILURE,
}
"""States that outweigh the verdict, as far as it is one about the client."""


OF_VOID: dict[Expected, Result] = {
    Expected.EXPECTED_FAIL: Result.SKIPPED,
    Expected.NOT_LISTED: Result.SKIPPED,
}
"""Of what a Case says nothing of: it is listed, a broker's, or kept away by what is reported."""


def result(cell: Cell, strict: bool) -> Result:
    """Return which kind of JUnit result a cell is; `strict` makes a failure of a warning that is not listed."""
    by_verdict = OF_VERDICT[cell.verdict]
    if cell.verdict in VOID and cell.expected in OF_VOID:
        return OF_VOID[cell.expected]
    if by_verdict is Result.ERROR:
        return by_verdict
    if strict and cell.verdict is Verdict.WARN and cell.expected is Expected.NOT_LISTED:
        return Result.FAILURE
    return OF_STATE.get(cell.expected, by_verdict)


def junit(report: Report, strict: bool = False) -> bytes:
    """Return the document; `strict` as for the exit code: a warning is a failure."""
    shown: dict[tuple[str, str], list[ShownFailure]] = {}
    for failure in report.failures:
        shown.setdefault((failure.cell.requirement, failure.cell.case), []).append(failure)
    document = JUnitXml(clean(f"assay {report.verdicts.subject.client} {report.verdicts.subject.version}"))
    for title, rows in report.chapters():
        wanted = {row.requirement for row in rows}
        suite = TestSuite(clean(title))
        # Together: the library counts all of a suite for each one that comes alone.
        suite.add_testcases(
            [
                _testcase(cell, shown.get((cell.requirement, cell.case), []), strict, report.wall_s(cell))
                for cell in report.verdicts.cells
                if cell.requirement in wanted
            ]
        )
        document.add_testsuite(suite)
    if lone := list(_entries_without_cell(report)):
        suite = TestSuite("expectations")
        suite.add_testcases(lone)
        document.add_testsuite(suite)
    out = io.BytesIO()
    document.write(out, pretty=True)
    return out.getvalue()


def _testcase(cell: Cell, shown: list[ShownFailure], strict: bool, wall_s: float) -> TestCase:
    testcase = TestCase(name=clean(cell.case), classname=clean(cell.requirement), time=wall_s)
    kind = result(cell, strict)
    if kind is not Result.PASSED:
        testcase.result = [_result(kind, cell, shown)]
    elif cell.verdict is not Verdict.PASS:
        testcase.system_out = clean(f"{cell.verdict.value}: {cell.reason}")
    return testcase


def _result(kind: Result, cell: Cell, shown: list[ShownFailure]) -> Skipped | Failure | Error:
    message = one_line(_message(cell))
    if kind is Result.SKIPPED:
        return Skipped(message)
    made = (Failure if kind is Result.FAILURE else Error)(message, type_=_type(cell))
    made.text = clean("\n\n".join(_story(failure) for failure in shown))
    return made


def _type(cell: Cell) -> str:
    return cell.expected.value if cell.expected in (Expected.STALE, Expected.EXPIRED) else cell.verdict.value


def _message(cell: Cell) -> str:
    match cell.expected:
        case Expected.EXPECTED_FAIL:
            return f"expected failure: {'; '.join(cell.listed)}"
        case Expected.STALE:
            return "stale expectation: a failure is listed for this and did not happen; take the entry out"
        case Expected.EXPIRED:
            return f"expired expectation: {'; '.join(cell.listed) or cell.reason or 'look again'}"
        case _:
            why = cell.reason or next((finding.sentence for finding in cell.findings), "")
            return f"{cell.verdict.value}: {why}" if why else cell.verdict.value


def _story(failure: ShownFailure) -> str:
    lines = [failure.requirement.clause, failure.sentence]
    lines += [f"{ms(row.t_ns)} {row.lane.value}: {row.text}" for row in failure.named]
    lines += [f"fault receipt: {receipt}" for receipt in failure.receipts[:4]]
    return "\n".join([*lines, failure.replay_command()] if failure.replay else lines)


def _entries_without_cell(report: Report) -> Iterator[TestCase]:
    """Stale or expired entries about which no cell speaks: their failure must not be invisible here."""
    cells = {(cell.requirement, cell.case) for cell in report.verdicts.cells}
    for entry in report.verdicts.expectations:
        listed = entry.expectation
        if entry.state in FAILS_THE_RUN and (listed.requirement, listed.case) not in cells:
            testcase = TestCase(name=clean(listed.case), classname=clean(listed.requirement))
            word = "stale" if entry.state is EntryState.STALE else "expired"
            testcase.result = [Failure(f"{word} expectation: {listed.code}", type_=word)]
            yield testcase
