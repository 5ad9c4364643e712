"""topics.topic-not-found-is-final"""

from __future__ import annotations

from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks._final_errors import FinalRefusal


class TopicNotFoundIsFinal(FinalRefusal):
    requirement = RequirementId("topics.topic-not-found-is-final")
    skips_plain = True
    error = "TopicNotFound"
    means = "the topic does not exist"
    ends_openings = True
