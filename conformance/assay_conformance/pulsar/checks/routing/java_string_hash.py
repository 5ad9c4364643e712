from __future__ import annotations

from assay_conformance.pulsar.checks.routing._hashes import goes_by, keyed_under
from assay_conformance.pulsar.timeline import Routed, Says, Timeline, check


@check("routing.java-string-hash", of=lambda timeline: keyed_under(timeline, "java_string"))
def java_string_hash(timeline: Timeline, message: Routed) -> Says:
    """routing.java-string-hash: String.hashCode over UTF-16 code units, without its sign bit."""
    yield from goes_by(message, "java_string", "wrong-partition", "its hash, as configured,")
