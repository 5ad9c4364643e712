"""Under what a run was made, as names and values."""

from __future__ import annotations

from datetime import UTC, datetime

from assay_reports.report import Report
from assay_reports.text import counted


def facts(report: Report) -> list[tuple[str, str]]:
    """Return the environment, as name and value; an empty value is unknown."""
    run, subject = report.run, report.verdicts.subject
    took = f"{(run.ended_unix_ms - run.started_unix_ms) / 1000:.1f} s" if run.ended_unix_ms else "not ended"
    return [
        ("run", run.run),
        ("began", moment(run.started_unix_ms)),
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
        ("versions", ", ".join(f"{name}: {version}" for name, version in report.versions.items())),
    ]


def moment(unix_ms: int) -> str:
    return datetime.fromtimestamp(unix_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
