from __future__ import annotations

from assay_conformance.pulsar.checks.routing._hashes import goes_by, keyed_under
from assay_conformance.pulsar.timeline import Routed, Says, Timeline, check


@check("routing.murmur3-hash", of=lambda timeline: keyed_under(timeline, "murmur3_32"))
def murmur3_hash(timeline: Timeline, message: Routed) -> Says:
    """routing.murmur3-hash: MurmurHash3 x86_32 with seed 0 over UTF-8, without its sign bit."""
    yield from goes_by(message, "murmur3_32", "wrong-partition", "its hash, as configured,")
