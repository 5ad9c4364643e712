"""robustness.unknown-command-ignored"""

from __future__ import annotations

from assay_conformance.model.event import Fate, Frame
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.robustness._ignored import Ignored


class UnknownCommandIgnored(Ignored):
    """A command, or a field, that the client does not know is ignored on its connection."""

    requirement = RequirementId("robustness.unknown-command-ignored")
    what = "that it does not know"

    def is_to_be_ignored(self, event: Frame) -> bool:
        return event.fate is Fate.INJECTED and event.command.isdigit()
