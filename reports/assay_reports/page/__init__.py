"""report.html: one file that needs nothing else and fetches nothing.

Without script it shows all that it holds (`room` says how much that is); the script (templates/report.js) adds
searching, filtering and the time axis. The content security policy allows this page's own style and script, by their
digests, and no more. Every text is escaped by the template engine after `clean` has made control characters visible,
which `finalize` does for all of them.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from assay_conformance.model.requirement import Side
from assay_conformance.model.verdict import VOID, Expected, Verdict
from assay_reports import plots
from assay_reports.causes import are_many, causes
from assay_reports.impact import IMPACT_MEANS, Impact, impact_words
from assay_reports.outcome import WORDS
from assay_reports.page import axis, by_cause, chart, facts, overview, room
from assay_reports.report import Failure, Report
from assay_reports.text import clean, counted
from assay_reports.verdicts import Met, counts, not_judged, shown, void

TONE: dict[Verdict, str] = {
    Verdict.PASS: "good",
    Verdict.FAIL: "bad",
    Verdict.WARN: "warn",
    Verdict.INFO: "info",
    Verdict.UNSUPPORTED: "quiet",
    Verdict.UNAVAILABLE: "quiet",
    Verdict.UNTESTABLE: "bad",
    Verdict.INCONCLUSIVE: "open",
    Verdict.INVALID: "open",
    Verdict.HARNESS_ERROR: "open",
}
"""Verdict -> colour class; a word always stands beside the colour."""

STATE_WORDS: dict[Expected, str] = {
    Expected.NOT_LISTED: "",
    Expected.EXPECTED_FAIL: "listed",
    Expected.UNEXPECTED: "not listed",
    Expected.STALE: "stale entry",
    Expected.EXPIRED: "expired entry",
    Expected.TOLERATED: "listed, stayed away",
}

EXIT_TONE = {0: "good", 1: "bad", 2: "bad", 3: "open", 4: "open", 130: "open"}

MOST_UNFOLDED = 8
"""Unexpected failures, and reasons of the exit code, that are shown at once; the others open on demand."""


def page(report: Report) -> str:
    """Return the whole document."""
    css, script = _own("report.css"), _own("report.js")
    requirements = report.catalogue.requirements
    rows = report.verdicts.requirements
    found = causes(report.failures) if are_many(report.failures) else []
    failures, expected = room.sections(report.failures, _article, [cause.first for cause in found])
    return (
        _environment()
        .get_template("report.html.j2")
        .render(
            css=Markup(css),
            script=Markup(script),
            csp=_policy(css, script),
            report=report,
            subject=report.verdicts.subject,
            outcome_words=WORDS[report.verdicts.exit_code],
            outcome_tone=EXIT_TONE[report.verdicts.exit_code],
            counted=_tiles(counts(rows, requirements)),
            broker_counted=counts(rows, requirements, broker_side=True),
            failures=failures,
            causes=list(by_cause.blocks(found, failures)),
            expected=expected,
            most_unfolded=MOST_UNFOLDED,
            reasons=room.part(report.verdicts.reasons, room.MOST_REASONS),
            met=list(_met(report)),
            left_out=list(room.by_reason((left.case, left.reason) for left in report.run.left_out)),
            filters=overview.filters(report),
            cells=overview.cells(report),
            cases=overview.cases(report),
            judged_cases=len({cell.case for cell in report.verdicts.cells}),
            facts=facts.facts(report),
            day=facts.moment(report.run.started_unix_ms),
        )
    )


def _met(report: Report) -> Iterator[tuple[str, str, list[Met]]]:
    """(impact, what it means, the listed deviations that have it), worst first; the broker's are not the client's."""
    listed = [one for one in report.verdicts.deviations if not one.broker]
    for impact in (None, *Impact):
        if found := [one for one in listed if one.impact is impact]:
            yield impact_words(impact), IMPACT_MEANS[impact] if impact else "not rated yet", found


def _article(failure: Failure) -> Markup:
    """Return a failure with its timeline."""
    drawn = chart.chart(failure.story)
    story = _environment().get_template("story.html.j2").module
    markup: Markup = story.article(failure, drawn, axis.story(failure.story, drawn))  # type: ignore[attr-defined]
    return markup


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("assay_reports"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_finalize,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(chart=chart, plots=plots, counted_words=counted, Side=Side, VOID=VOID)
    environment.filters.update(
        seen=overview.seen,
        judged=overview.judged,
        not_judged=not_judged,
        void=void,
        shown=shown,
        tone=tone,
        state=lambda state: STATE_WORDS[state],
        http=is_http,
        brief=room.brief,
        anchor=lambda text: f"r-{text}",
    )
    return environment


def _finalize(value: Any) -> Any:
    return clean(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def tone(row: Any) -> str:
    """Return the colour class of a row or cell: a listed failure is known, not alarming."""
    return "known" if row.expected is Expected.EXPECTED_FAIL else TONE[row.verdict]


def is_http(link: str) -> bool:
    """Return whether a link may become a link of the page: `javascript:` and the like stay text."""
    return link.startswith(("https://", "http://"))


def _tiles(found: dict[str, int]) -> list[tuple[int, str, str]]:
    """(count, words, colour class)."""
    return [
        (count, words, "known" if words.startswith("expected ") else TONE[Verdict(words)])
        for words, count in found.items()
    ]


def _own(name: str) -> str:
    return files("assay_reports").joinpath("templates", name).read_text("utf-8")


def _policy(css: str, script: str) -> str:
    # style attributes and inline handlers stay forbidden: neither is covered by a digest.
    return (
        f"default-src 'none'; style-src '{_source(css)}'; script-src '{_source(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _source(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
