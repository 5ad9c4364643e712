from __future__ import annotations

from assay_conformance.pulsar.checks.routing._hashes import goes_by, keyed_by_default
from assay_conformance.pulsar.timeline import Routed, Says, Timeline, check


@check("routing.default-hash", of=keyed_by_default)
def default_hash(timeline: Timeline, message: Routed) -> Says:
    """routing.default-hash: where none is configured, keys are hashed as the Java and Go clients do it by default."""
    why = "no hashing scheme was configured, and JavaStringHash"
    yield from goes_by(message, "java_string", "other-default", why)
