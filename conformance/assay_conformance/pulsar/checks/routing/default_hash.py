"""routing.default-hash"""

from __future__ import annotations

from assay_conformance.checks.base import ms
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.routing._hashes import Unconfigured
from assay_conformance.pulsar.checks.routing._routed import Routed
from assay_conformance.wire import java_string_hash, sign_safe_mod


class DefaultHash(Unconfigured):
    """Without a word about it, keys are hashed as the Java and Go clients do it by default."""

    requirement = RequirementId("routing.default-hash")

    def by_default(self, message: Routed, key: str) -> None:
        self.exercise(message.frame)
        expected = sign_safe_mod(java_string_hash(key), message.partitions)
        if message.partition != expected:
            self.breach(
                "other-default",
                f"{message} went to partition {message.partition} at {ms(message.frame.t_ns)}; no hashing scheme was "
                f"configured, and JavaStringHash makes partition {expected} of {message.partitions}",
                message.send.invoke,
                message.frame,
            )
