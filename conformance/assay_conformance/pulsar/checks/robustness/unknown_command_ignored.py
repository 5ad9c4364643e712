from __future__ import annotations

from assay_conformance.pulsar.checks.robustness._ignored import judge_ignored, put_in
from assay_conformance.pulsar.timeline import Says, Timeline, check


@check("robustness.unknown-command-ignored")
def unknown_command_ignored(timeline: Timeline) -> Says:
    """robustness.unknown-command-ignored: a command, or a field, that the client does not know is ignored on its
    connection."""
    unknown = [frame for frame in put_in(timeline) if frame.command.isdigit()]
    yield from judge_ignored(timeline, unknown, "that it does not know")
