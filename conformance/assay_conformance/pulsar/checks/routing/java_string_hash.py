"""routing.java-string-hash"""

from __future__ import annotations

from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.routing._hashes import HashCheck


class JavaStringHash(HashCheck):
    """String.hashCode over UTF-16 code units, without its sign bit."""

    requirement = RequirementId("routing.java-string-hash")
    scheme = "java_string"
