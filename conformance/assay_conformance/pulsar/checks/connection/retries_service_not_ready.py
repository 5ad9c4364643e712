"""connection.retries-service-not-ready"""

from __future__ import annotations

from assay_conformance.model.event import Frame
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.connection._openings import Openings


class RetriesServiceNotReady(Openings):
    """ServiceNotReady is a setback."""

    requirement = RequirementId("connection.retries-service-not-ready")
    setbacks = Frame
