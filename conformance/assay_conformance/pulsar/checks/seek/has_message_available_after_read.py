"""seek.has-message-available-after-read"""

from __future__ import annotations

from assay_conformance.model.event import Received
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.seek._more_to_read import Answers


class HasMessageAvailableAfterRead(Answers):
    requirement = RequirementId("seek.has-message-available-after-read")
    place = Received
