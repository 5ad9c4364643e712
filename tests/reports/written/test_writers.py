"""Terminal and JUnit: what they must say, and what hostile text in a run must not do to them."""

from __future__ import annotations

import io
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from rich.console import Console

from assay_conformance.model.errors import UsageError
from assay_conformance.model.event import Event, Note
from assay_conformance.model.run import LeftOut
from assay_conformance.model.verdict import Expected, Verdict
from assay_reports import junit as junit_module
from assay_reports.certificate import Claim
from assay_reports.console import STATE_WORDS, failure_text, print_report, summary
from assay_reports.junit import OF_VERDICT, junit
from assay_reports.page import EXIT_TONE, TONE, page
from assay_reports.page import STATE_WORDS as PAGE_STATES
from assay_reports.report import Report
from assay_reports.terminal import STYLE, terminal
from assay_reports.verdicts import SHOWN

Sample = Any


def printed(report: Report, width: int | None = None, colour: bool = False) -> str:
    out = io.StringIO()
    if colour:
        console = Console(file=out, width=width, force_terminal=True, color_system="truecolor", markup=False)
    else:
        console = terminal(out, width)
    print_report(report, console)
    return out.getvalue()


# --- terminal -------------------------------------------------------------------------------------------------------


def test_table_tells_verdict_count_and_state(sample: Sample) -> None:
    text = printed(sample.report(sample.judged(exercised=17)))
    (line,) = [line for line in text.splitlines() if "resend.keeps-order" in line]
    assert re.search(r"Resending keeps the order\s+pass\s+17\s+1", line)


def test_chapters_come_in_catalogue_order(sample: Sample) -> None:
    text = printed(sample.report(sample.judged(requirement="ack.flush-on-close"), sample.judged()))
    assert text.index("Resend, reconnect") < text.index("Acknowledgment")


def test_failure_names_clause_events_receipt_and_replay(sample: Sample) -> None:
    text = printed(sample.report(sample.judged(Verdict.FAIL, "out-of-order")))
    assert "MUST: Sends that go out again" in text
    assert "12.6 ms  wire    SEND producer 1 sequence 1" in text
    assert "13.1 ms: fault 0 fired: hold on frame 23" in text
    assert "assay replay runs/2026-06-01-101500/replay/resend/cut-after-second-receipt.json" in text


def test_failure_of_the_broker_is_told_under_its_name(sample: Sample) -> None:
    of_broker = {"requirement": "ack.broker-keeps", "case": "ack/close-flushes"}
    judged = (sample.judged(Verdict.FAIL, "acked-again", **of_broker), sample.judged(Verdict.FAIL, "out-of-order"))
    text = printed(sample.report(*judged))
    name = text.index("Of the broker, embedded assay 0.1.0")
    assert text.index("FAIL  resend.keeps-order") < name < text.index("FAIL  ack.broker-keeps")


def test_listed_failure_is_a_line_and_no_story(sample: Sample) -> None:
    text = printed(sample.report(sample.judged(Verdict.FAIL, "out-of-order"), entries=[sample.entry()]))
    assert "expected fail" in text
    assert "  clause  " not in text
    assert "exit 0: all as expected" in text


def test_failures_of_one_kind_are_told_once_with_their_other_cases(sample: Sample) -> None:
    text = printed(
        sample.report(
            sample.judged(Verdict.FAIL, "out-of-order"),
            sample.judged(Verdict.FAIL, "out-of-order", case="ack/close-flushes"),
        )
    )
    assert text.count("clause ") == 1
    assert re.search(r"also in\s+ack/close-flushes", text)


def test_summary_names_folder_page_and_reasons(sample: Sample) -> None:
    text = printed(sample.report(sample.judged(), entries=[sample.entry()]))
    assert "exit 1: not as expected" in text
    assert "take the entry out" in text
    assert "run   runs/2026-06-01-101500" in text
    assert "page  runs/2026-06-01-101500/report.html" in text


def test_of_many_reasons_the_first_are_told_and_the_others_counted(sample: Sample) -> None:
    report = sample.report(sample.judged(Verdict.FAIL, "out-of-order"))
    (reason,) = report.verdicts.reasons
    many = replace(report, verdicts=msgspec.structs.replace(report.verdicts, reasons=(reason,) * 13))
    text = printed(many)
    assert text.count(reason.sentence) == 5
    assert "and 8 more" in text
    assert "<summary>and 5 more</summary>" in page(many)


def test_left_out_cases_are_counted_by_reason(sample: Sample) -> None:
    left_out = [LeftOut(f"connection/case-{number}", "only in --tier full") for number in range(25)]
    left_out.append(LeftOut("resend/x", "--deselect resend"))
    text = printed(sample.report(sample.judged(), run=sample.run(left_out=tuple(left_out))))
    assert "left out: 25 Cases: only in --tier full\nleft out: 1 Case: --deselect resend\n" in text
    assert "connection/case" not in text


def test_without_terminal_there_is_no_escape_sequence(sample: Sample) -> None:
    assert "\x1b" not in printed(sample.report(sample.judged(Verdict.FAIL, "out-of-order")))


def test_colour_keeps_the_words(sample: Sample) -> None:
    text = printed(sample.report(sample.judged(Verdict.FAIL, "out-of-order")), width=100, colour=True)
    assert "\x1b[" in text
    assert "FAIL" in text


@pytest.mark.parametrize("width", [30, 40, 60, 80, 100, 200])
def test_report_fits_its_terminal(sample: Sample, width: int) -> None:
    text = printed(sample.report(sample.judged(Verdict.FAIL, "out-of-order")), width=width)
    # Paths and commands are for copying, and stay whole.
    lines = [line for line in text.splitlines() if not line.startswith(("run ", "page ", "  assay replay "))]
    assert all(len(line.rstrip()) <= width for line in lines)
    assert "fail" in text


def test_hostile_text_stays_text_on_a_terminal(sample: Sample) -> None:
    text = printed(sample.hostile(), width=200)
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", text)
    assert "[bold red]" in text


# --- JUnit ----------------------------------------------------------------------------------------------------------


def cases_of(report: Report, strict: bool = False) -> dict[tuple[str, str], ET.Element]:
    root = ET.fromstring(junit(report, strict))
    return {(case.attrib["classname"], case.attrib["name"]): case for case in root.iter("testcase")}


def only(report: Report, strict: bool = False) -> tuple[str, str]:
    """(kind, message) of the one test case; kind "" when it passed."""
    (case,) = cases_of(report, strict).values()
    children = [child for child in case if child.tag in ("failure", "error", "skipped")]
    return (children[0].tag, children[0].attrib["message"]) if children else ("", "")


@pytest.mark.parametrize(
    ("verdict", "kind"),
    [
        (Verdict.PASS, ""),
        (Verdict.WARN, ""),
        (Verdict.INFO, ""),
        (Verdict.FAIL, "failure"),
        (Verdict.UNTESTABLE, "failure"),
        (Verdict.INVALID, "error"),
        (Verdict.INCONCLUSIVE, "error"),
        (Verdict.HARNESS_ERROR, "error"),
        (Verdict.UNSUPPORTED, "skipped"),
        (Verdict.UNAVAILABLE, "skipped"),
    ],
)
def test_verdict_as_junit_result(sample: Sample, verdict: Verdict, kind: str) -> None:
    assert only(sample.report(sample.judged(verdict)))[0] == kind


def test_time_of_a_test_case_is_that_of_its_last_event(sample: Sample) -> None:
    (case,) = cases_of(sample.report(sample.judged(), events=[Note(seq=0, t_ns=1_234_567_890, text="")])).values()
    assert case.attrib["time"] == "1.235"


def test_history_of_a_case_is_read_once_for_all_that_was_judged_by_it(sample: Sample) -> None:
    read: list[str] = []

    def events(case: str, _attempt: int) -> list[Event]:
        read.append(case)
        return []

    judged = [sample.judged(requirement=requirement) for requirement in sample.catalogue.requirements]
    assert len(cases_of(replace(sample.report(*judged), events=events))) > 1
    assert len(read) == 1


def test_case_without_a_history_took_no_time(sample: Sample) -> None:
    def missing(_case: str, _attempt: int) -> list[Event]:
        raise UsageError("1.jsonl: cannot be read")

    (case,) = cases_of(replace(sample.report(sample.judged(Verdict.INVALID)), events=missing)).values()
    assert case.attrib["time"] == "0.0"


def test_expected_failure_is_skipped_with_its_reason(sample: Sample) -> None:
    report = sample.report(sample.judged(Verdict.FAIL, "out-of-order"), entries=[sample.entry()])
    assert only(report) == ("skipped", "expected failure: resends by hash order")


def test_stale_entry_is_a_failure(sample: Sample) -> None:
    kind, message = only(sample.report(sample.judged(), entries=[sample.entry()]))
    assert (kind, message.startswith("stale expectation")) == ("failure", True)


def test_stale_entry_without_judgement_is_a_failure(sample: Sample) -> None:
    listed = sample.entry(requirement="ack.flush-on-close")
    cases = cases_of(sample.report(sample.judged(), entries=[listed]))
    assert cases["ack.flush-on-close", "resend/cut-after-second-receipt"].find("failure") is not None


def test_warning_is_a_failure_when_strict(sample: Sample) -> None:
    assert only(sample.report(sample.judged(Verdict.WARN, "late"), strict=True), strict=True)[0] == "failure"


def test_failure_carries_clause_events_and_replay(sample: Sample) -> None:
    (case,) = cases_of(sample.report(sample.judged(Verdict.FAIL, "out-of-order"))).values()
    text = case.findtext("failure") or ""
    assert "Sends that go out again" in text
    assert "31.0 ms wire: SEND" in text
    assert "assay replay" in text


def test_one_test_case_for_each_requirement_and_case(sample: Sample) -> None:
    report = sample.report(sample.judged(), sample.judged(case="ack/close-flushes"), sample.judged(attempt=2))
    assert len(cases_of(report)) == 2


def test_hostile_text_is_well_formed_xml(sample: Sample) -> None:
    text = " ".join(ET.fromstring(junit(sample.hostile())).itertext())
    assert "<script>alert(1)</script>" in text
    assert "\x1b" not in text


# --- tables ---------------------------------------------------------------------------------------------------------


def test_every_verdict_and_state_is_in_every_table() -> None:
    assert set(STYLE) == set(OF_VERDICT) == set(TONE) == set(Verdict)
    assert set(STATE_WORDS) == set(PAGE_STATES) == set(Expected)
    assert set(junit_module.OF_STATE) <= set(Expected)
    assert set(EXIT_TONE) == {0, 1, 2, 3, 4, 130}
    assert {verdict.value for verdict in Verdict} <= set(SHOWN)


def test_unexpected_failures_are_told_first(sample: Sample) -> None:
    listed = sample.judged(Verdict.FAIL, "out-of-order")
    new = sample.judged(Verdict.FAIL, "lost", requirement="resend.pending-sends-resent")
    report = sample.report(listed, new, entries=[sample.entry()])
    assert [failure.expected for failure in report.failures] == [False, True]


def test_findings_of_one_code_are_told_once(sample: Sample) -> None:
    (told,) = sample.report(sample.judged(Verdict.FAIL, "lost", "lost", "lost")).failures
    assert told.more == 2


def test_failure_without_finding_tells_its_reason(sample: Sample) -> None:
    (told,) = sample.report(sample.judged(Verdict.UNTESTABLE, reason="no reconnect came")).failures
    out = terminal(io.StringIO(), 80)
    out.print(failure_text(told))
    assert "no reconnect came" in str(getattr(out.file, "getvalue")())  # noqa: B009


def test_version_beyond_the_tested_range_is_said(sample: Sample) -> None:
    import dataclasses

    import msgspec

    report = sample.report(sample.judged())
    subject = msgspec.structs.replace(report.verdicts.subject, tested=False)
    beyond = dataclasses.replace(report, verdicts=msgspec.structs.replace(report.verdicts, subject=subject))
    out = io.StringIO()
    terminal(out).print(summary(beyond))
    assert "outside the range" in out.getvalue()
    assert "outside the range" in page(beyond)


def test_terminal_names_what_is_claimed(sample: Sample) -> None:
    import dataclasses

    claims = (
        Claim(profile="dedup", title="Once", claimed=False, requirements=3, because=("not declared: dedup_resume",)),
        Claim(profile="sending", title="Sends", claimed=True, requirements=9),
    )
    out = io.StringIO()
    terminal(out).print(summary(dataclasses.replace(sample.report(sample.judged()), claims=claims)))
    assert "profiles claimed, 1 of 2: sending; certificate.json says why not the others\n" in out.getvalue()


def test_many_kinds_of_failures_are_told_by_cause_each_with_its_replay_on_one_line(sample: Sample) -> None:
    kinds = [sample.judged(Verdict.FAIL, f"code-{number}") for number in range(12)]
    text = printed(sample.report(*kinds))
    assert "probably 1 cause." in text
    assert "breaks as well: resend.keeps-order: code-1, " in text
    assert len([line for line in text.splitlines() if line.startswith("  assay replay ")]) == 1
    assert "  clause  " not in text
