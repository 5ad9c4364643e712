"""What an application may meet: worst first on page and terminal, and security deviations for those who ask only."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from assay_conformance.model.run import LeftOut
from assay_conformance.model.verdict import Expected, Verdict
from assay_reports.certificate import Claim
from assay_reports.console import SCREEN, summary
from assay_reports.impact import Impact
from assay_reports.junit import junit
from assay_reports.page import page
from assay_reports.published import LEFT_OUT, count_withheld, published
from assay_reports.report import Report
from assay_reports.terminal import terminal
from assay_reports.verdicts import Met

Sample = Any

SECRET = "reads after the end of a body"
CLOSE_CASE = "ack/close-flushes"


def told(report: Report, width: int = SCREEN[0]) -> list[str]:
    out = io.StringIO()
    terminal(out, width).print(summary(report), crop=False)
    return out.getvalue().splitlines()


def secret(sample: Sample, code: str = "out-of-order") -> Any:
    return sample.entry(code, reason=SECRET, deviation="secret", impact=Impact.DIES, security=True)


def listed_and_failed(sample: Sample, *entries: Any) -> Report:
    report: Report = sample.report(
        sample.judged(Verdict.FAIL, "out-of-order"), entries=entries or [sample.entry(impact=Impact.LOST)]
    )
    return report


# --- terminal ---------------------------------------------------------------------------------------------------------


def test_summary_says_what_an_application_may_meet_worst_first(sample: Sample) -> None:
    entries = [
        sample.entry(impact=Impact.LATE, reason="Sends are late."),
        sample.entry("lost", impact=Impact.LOST, reason="Messages are lost."),
        sample.entry("gone", impact=Impact.LOST, reason="Others, too."),
    ]
    lines = told(listed_and_failed(sample, *entries))
    at = lines.index("what your application may meet, worst first:")
    assert lines[at + 1 : at + 3] == ["  lost (2): Messages are lost.", "  late (1): Sends are late."]


def test_five_worst_impacts_are_told_and_the_others_counted(sample: Sample) -> None:
    entries = [sample.entry(f"code-{n}", impact=impact) for n, impact in enumerate(Impact)]
    lines = told(listed_and_failed(sample, *entries))
    assert "  misrouted (1): resends by hash order" in lines
    assert "  and dies (1), hangs (1), fails without cause (1), leaks or grows (1), late (1), wire only (1)" in lines


def test_deviation_that_nobody_rated_comes_first(sample: Sample) -> None:
    entries = [sample.entry("lost", impact=Impact.LOST), sample.entry()]
    lines = told(listed_and_failed(sample, *entries))
    assert lines[lines.index("what your application may meet, worst first:") + 1].startswith("  not rated (1): ")


def test_failures_of_the_broker_are_no_matter_of_the_client(sample: Sample) -> None:
    report = listed_and_failed(sample)
    of_broker = Met(id="b", title="Of the broker", impact=Impact.LOST, broker="Apache Pulsar")
    mine = replace(report, verdicts=msgspec.structs.replace(report.verdicts, deviations=(of_broker,)))
    assert "what your application may meet" not in "\n".join(told(mine))


def test_summary_of_a_certification_fits_on_one_screen(sample: Sample) -> None:
    """With more than there ever is of everything."""
    report = listed_and_failed(sample)
    (long,) = report.verdicts.deviations
    sentence = " ".join(30 * ["A message may be lost."])
    deviations = tuple(
        msgspec.structs.replace(long, impact=impact, effect=sentence) for impact in (None, *Impact) for _ in range(9)
    )
    failed = sample.report(sample.judged(Verdict.FAIL, "out-of-order"))
    (reason,) = failed.verdicts.reasons
    (row,) = failed.verdicts.requirements
    rows = [
        msgspec.structs.replace(row, requirement=requirement, verdict=verdict, expected=state, not_judged={sentence: 3})
        for requirement in ("resend.keeps-order", "ack.broker-keeps")
        for verdict in Verdict
        for state in (Expected.NOT_LISTED, Expected.EXPECTED_FAIL)
    ]
    many = msgspec.structs.replace(reason, sentence=sentence)
    left_out = tuple(LeftOut(f"a/{n}", f"only with {n} and {sentence}") for n in range(90))
    everything = replace(
        failed,
        run=sample.run(left_out=left_out),
        verdicts=msgspec.structs.replace(
            failed.verdicts,
            deviations=deviations,
            reasons=90 * (many,),
            requirements=tuple(rows),
            subject=msgspec.structs.replace(failed.verdicts.subject, tested=False),
        ),
        claims=tuple(Claim(profile=f"profile-{n}", title="Title", claimed=n < 40, requirements=3) for n in range(50)),
        withheld=3,
    )
    assert len(told(everything)) <= SCREEN[1]
    assert max(len(line) for line in told(everything)) <= SCREEN[0]


# --- page -------------------------------------------------------------------------------------------------------------


def test_page_begins_with_what_an_application_may_meet(sample: Sample) -> None:
    document = page(listed_and_failed(sample, sample.entry(impact=Impact.LOST, reason="Messages are lost.")))
    main = document.partition("<main>")[2]
    assert main.index("What your application may meet") < main.index("<h2", main.index("What your application") + 1)
    assert "Messages are lost." in main
    assert "shown in 1 Case" in main


def test_deviation_that_did_not_show_says_so(sample: Sample) -> None:
    entries = [sample.entry(impact=Impact.LOST), sample.entry("late", impact=Impact.LATE)]
    assert "not shown in this run" in page(listed_and_failed(sample, *entries))


# --- security ---------------------------------------------------------------------------------------------------------


def test_security_deviation_is_neither_on_the_page_nor_in_junit(sample: Sample) -> None:
    report = listed_and_failed(sample, secret(sample))
    public = report.public
    assert SECRET in page(report)
    assert SECRET not in page(public)
    assert SECRET not in junit(public).decode()
    (finding,) = report.verdicts.cells[0].findings
    assert finding.sentence not in page(public)
    assert "1 deviation with consequences for security" in page(public)


def test_security_deviation_is_shown_when_its_id_is_named(sample: Sample) -> None:
    report = replace(listed_and_failed(sample, secret(sample)), disclosed=("secret",))
    assert SECRET in page(report.public)
    assert report.public.withheld == 0


def test_terminal_says_how_many_were_left_out(sample: Sample) -> None:
    lines = told(listed_and_failed(sample, secret(sample)).public)
    assert "  1 deviation with consequences for security not shown: --disclose ID" in lines


def test_verdict_of_what_is_left_out_stays(sample: Sample) -> None:
    report = listed_and_failed(sample, secret(sample))
    (row,) = report.public.verdicts.requirements
    assert (row.verdict, row.findings, row.reason) == (Verdict.FAIL, (), LEFT_OUT)
    assert report.public.verdicts.exit_code == report.verdicts.exit_code


def test_what_is_listed_otherwise_too_is_not_left_out(sample: Sample) -> None:
    report = listed_and_failed(sample, secret(sample), sample.entry(deviation="open", versions=">=3"))
    assert report.public.verdicts.cells == report.verdicts.cells


def test_failure_that_is_not_listed_is_never_left_out(sample: Sample) -> None:
    report = sample.report(sample.judged(Verdict.FAIL, "out-of-order"), entries=[secret(sample, "other")])
    assert report.public.verdicts.cells == report.verdicts.cells


def test_reason_that_names_a_security_deviation_does_not_say_which(sample: Sample) -> None:
    report = sample.report(sample.judged(), entries=[secret(sample)])
    assert [reason.sentence for reason in report.public.verdicts.reasons] == [LEFT_OUT]
    assert report.public.verdicts.exit_code == 1


@pytest.mark.parametrize(("disclosed", "count"), [((), 1), (("secret",), 0), (("other",), 1)])
def test_deviations_that_are_left_out_are_counted(sample: Sample, disclosed: tuple[str, ...], count: int) -> None:
    document = listed_and_failed(sample, secret(sample)).verdicts
    assert count_withheld(document, disclosed) == count


def test_run_without_security_deviations_is_published_as_it_is(sample: Sample) -> None:
    document = listed_and_failed(sample).verdicts
    assert published(document) is document
