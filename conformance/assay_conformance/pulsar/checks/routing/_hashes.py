"""How keys are hashed: under the schemes that are the same in every language, and without a word about it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import ClassVar

from assay_conformance.checks.base import ms
from assay_conformance.pulsar.checks.routing._routed import Routed, RoutingCheck
from assay_conformance.wire import java_string_hash, murmur3_32, sign_safe_mod

HASHES: Mapping[str, Callable[[str], int]] = {
    "java_string": java_string_hash,
    "murmur3_32": lambda key: murmur3_32(key.encode()),
}
"""What hashes a key, by the word for its scheme."""


class HashCheck(RoutingCheck):
    """Keys under one hashing scheme, against the scheme itself."""

    scheme: ClassVar[str]

    def routed(self, message: Routed) -> None:
        key = message.key
        if key is None or self.view.producer_setting(message.handle, "hashing_scheme") != self.scheme:
            return
        self.exercise(message.frame)
        hashed = HASHES[self.scheme](key)
        expected = sign_safe_mod(hashed, message.partitions)
        if message.partition != expected:
            self.breach(
                "wrong-partition",
                f"{message} went to partition {message.partition} at {ms(message.frame.t_ns)}; its hash is {hashed}, "
                f"which makes partition {expected} of {message.partitions}",
                message.send.invoke,
                message.frame,
            )


class Unconfigured(RoutingCheck):
    """Keys of producers that nobody told how to hash."""

    def routed(self, message: Routed) -> None:
        opening = self.tracker.lines.openings[message.handle]
        told = {**self.view.case.config.producer, **(opening.args.get("config") or {})}
        if message.key is not None and "hashing_scheme" not in told:
            self.by_default(message, message.key)

    @abstractmethod
    def by_default(self, message: Routed, key: str) -> None: ...
