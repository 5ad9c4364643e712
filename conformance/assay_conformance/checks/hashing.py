"""How keys are hashed: under the schemes that are the same in every language, and without a word about it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import ClassVar

from assay_conformance.checks.base import ms
from assay_conformance.checks.routing import Routed, RoutingCheck
from assay_conformance.model.requirement import RequirementId
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


class JavaStringHash(HashCheck):
    """String.hashCode over UTF-16 code units, without its sign bit."""

    requirement = RequirementId("routing.java-string-hash")
    scheme = "java_string"


class Murmur3Hash(HashCheck):
    """MurmurHash3 x86_32 with seed 0 over UTF-8, without its sign bit."""

    requirement = RequirementId("routing.murmur3-hash")
    scheme = "murmur3_32"


class _Unconfigured(RoutingCheck):
    """Keys of producers that nobody told how to hash."""

    def routed(self, message: Routed) -> None:
        opening = self.tracker.lines.openings[message.handle]
        told = {**self.view.case.config.producer, **(opening.args.get("config") or {})}
        if message.key is not None and "hashing_scheme" not in told:
            self.by_default(message, message.key)

    @abstractmethod
    def by_default(self, message: Routed, key: str) -> None: ...


class DefaultHash(_Unconfigured):
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


class DeclaredDefaultHash(_Unconfigured):
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
