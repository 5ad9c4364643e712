"""routing.declared-default-hash"""

from __future__ import annotations

from assay_conformance.checks.base import ms
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.routing._hashes import HASHES, Unconfigured
from assay_conformance.pulsar.checks.routing._routed import Routed
from assay_conformance.wire import sign_safe_mod


class DeclaredDefaultHash(Unconfigured):
    """The scheme that the client's agent declares, where it is known how that hashes; and one scheme for all."""

    requirement = RequirementId("routing.declared-default-hash")

    def start(self) -> None:
        super().start()
        self._places: dict[tuple[str, str], Routed] = {}

    def by_default(self, message: Routed, key: str) -> None:
        topic = str(self.tracker.lines.openings[message.handle].args.get("topic", ""))
        before = self._places.setdefault((topic, key), message)
        scheme = self.view.producer_setting(message.handle, "hashing_scheme")
        hashed = HASHES.get(str(scheme))
        if hashed is not None:
            self.exercise(message.frame)
            expected = sign_safe_mod(hashed(key), message.partitions)
            if message.partition != expected:
                self.breach(
                    "not-as-declared",
                    f"{message} went to partition {message.partition} at {ms(message.frame.t_ns)}; no hashing scheme "
                    f"was configured, and {scheme}, which the client declares, makes partition {expected} of "
                    f"{message.partitions}",
                    message.send.invoke,
                    message.frame,
                )
        elif before.handle != message.handle:
            self.exercise(message.frame)
            if before.partition != message.partition:
                self.breach(
                    "defaults-differ",
                    f"{message} went to partition {message.partition} at {ms(message.frame.t_ns)}, and {before} to "
                    f"partition {before.partition}; no hashing scheme was configured for either producer",
                    before.frame,
                    message.frame,
                )
