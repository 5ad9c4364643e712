"""seek.has-message-available-before-read"""

from __future__ import annotations

from assay_conformance.model.event import Invoke
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.seek._more_to_read import Answers


class HasMessageAvailableBeforeRead(Answers):
    requirement = RequirementId("seek.has-message-available-before-read")
    place = Invoke
