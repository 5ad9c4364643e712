"""routing.murmur3-hash"""

from __future__ import annotations

from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.routing._hashes import HashCheck


class Murmur3Hash(HashCheck):
    """MurmurHash3 x86_32 with seed 0 over UTF-8, without its sign bit."""

    requirement = RequirementId("routing.murmur3-hash")
    scheme = "murmur3_32"
