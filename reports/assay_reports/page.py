"""report.html: one file that needs nothing else, runs nothing and fetches nothing.

The content security policy allows this page's own style and no more; there is no script. Every text is escaped by the
template engine after `clean` has made control characters visible, which `finalize` does for all of them.
"""

from __future__ import annotations

import base64
import hashlib
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from assay_conformance.model.requirement import Side
from assay_conformance.model.verdict import Expected, Verdict
from assay_reports import chart
from assay_reports.outcome import WORDS
from assay_reports.report import Report
from assay_reports.text import clean, counted
from assay_reports.verdicts import counts, shown

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


def page(report: Report) -> str:
    """The whole document."""
    told = report.failures
    css = _css()
    requirements = report.catalogue.requirements
    rows = report.verdicts.requirements
    return (
        _environment()
        .get_template("report.html.j2")
        .render(
            css=Markup(css),
            csp=f"default-src 'none'; style-src '{_source(css)}'; base-uri 'none'; form-action 'none'",
            report=report,
            subject=report.verdicts.subject,
            outcome_words=WORDS[report.verdicts.exit_code],
            outcome_tone=EXIT_TONE[report.verdicts.exit_code],
            counted=_tiles(counts(rows, requirements)),
            broker_counted=counts(rows, requirements, broker_side=True),
            failures=[(failure, chart.chart(failure.story)) for failure in told if not failure.expected],
            expected=[(failure, chart.chart(failure.story)) for failure in told if failure.expected],
            facts=_facts(report),
            day=_moment(report.run.started_unix_ms),
        )
    )


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
    environment.globals.update(chart=chart, counted_words=counted, Side=Side)
    environment.filters.update(
        shown=shown, tone=tone, state=lambda state: STATE_WORDS[state], http=is_http, anchor=lambda text: f"r-{text}"
    )
    return environment


def _finalize(value: Any) -> Any:
    return clean(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def tone(row: Any) -> str:
    """Colour class of a row or cell: a listed failure is known, not alarming."""
    return "known" if row.expected is Expected.EXPECTED_FAIL else TONE[row.verdict]


def is_http(link: str) -> bool:
    """Only such links become links: `javascript:` and the like stay text."""
    return link.startswith(("https://", "http://"))


def _tiles(found: dict[str, int]) -> list[tuple[int, str, str]]:
    """(count, words, colour class)."""
    return [
        (count, words, "known" if words.startswith("expected ") else TONE[Verdict(words)])
        for words, count in found.items()
    ]


def _css() -> str:
    return files("assay_reports").joinpath("templates/report.css").read_text("utf-8")


def _source(css: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(css.encode()).digest()).decode()


def _moment(unix_ms: int) -> str:
    return datetime.fromtimestamp(unix_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def _facts(report: Report) -> list[tuple[str, str]]:
    """The environment, as name and value."""
    run, subject = report.run, report.verdicts.subject
    took = f"{(run.ended_unix_ms - run.started_unix_ms) / 1000:.1f} s" if run.ended_unix_ms else "not ended"
    return [
        ("run", run.run),
        ("began", _moment(run.started_unix_ms)),
        ("took", took),
        ("suite", run.suite),
        ("catalogue", run.catalogue),
        ("client", f"{subject.client} {subject.version}, asked for as {run.facts.client_version}"),
        ("agent", subject.agent),
        ("broker", report.verdicts.broker),
        ("machine", f"{run.machine.platform}, {counted(run.machine.cpus, 'core')}, Python {run.machine.python}"),
        ("load measured by", run.load_source.value),
        ("seed", str(run.seed)),
        ("Hypothesis", run.hypothesis),
        ("capabilities", ", ".join(sorted(run.facts.capabilities))),
        ("fixed by the client", ", ".join(f"{key} = {value}" for key, value in sorted(run.facts.fixed.items()))),
        ("options", ", ".join(f"{key} = {value}" for key, value in sorted(run.options.items()))),
    ]
