"""producer.fenced-is-final"""

from __future__ import annotations

from assay_conformance.model.event import ErrorClass
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks._final_errors import FinalRefusal


class FencedIsFinal(FinalRefusal):
    requirement = RequirementId("producer.fenced-is-final")
    skips_plain = True
    error = "ProducerFenced"
    means = "another producer has the topic"
    expected = ErrorClass.FENCED
