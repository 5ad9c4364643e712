"""Topic names: `persistent://tenant/namespace/topic`, what may be left out of it, and its partitions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from assay_conformance.broker.rules import RefusalError, ViolationError
from assay_conformance.model.errors import UsageError
from assay_conformance.model.topic_names import base_topic, partition_number, renamed
from assay_conformance.wire.pulsar_pb2 import ServerError

DEFAULT_NAMESPACE = "public/default"


class TopicName(NamedTuple):
    """A complete name. `namespace` is `tenant/namespace`; `partition` is NO_PARTITION for a topic that is none."""

    domain: str
    namespace: str
    local: str

    @property
    def full(self) -> str:
        return f"{self.domain}://{self.namespace}/{self.local}"

    @property
    def partition(self) -> int:
        return partition_number(self.local)


def parse(text: str) -> TopicName:
    """Return the complete name for what a client wrote: `t`, `tenant/ns/t` or `domain://tenant/ns/t`.

    Raises RefusalError (InvalidTopicName).
    """
    domain, scheme, rest = text.partition("://")
    if not scheme:
        domain, rest = "persistent", text if "/" in text else f"{DEFAULT_NAMESPACE}/{text}"
    parts = rest.split("/", 2)
    if domain not in ("persistent", "non-persistent") or len(parts) != 3 or not all(parts):
        raise RefusalError(ServerError.InvalidTopicName, f"Invalid topic name: {text}")
    return TopicName(domain, f"{parts[0]}/{parts[1]}", parts[2])


def completed(text: str) -> str:
    """Return the complete name; the text itself where it is no name of a topic."""
    try:
        return parse(text).full
    except RefusalError:
        return text


def check_namespace(text: str) -> None:
    """Raise ViolationError for what is no `tenant/namespace`: a real broker fails on it."""
    parts = text.split("/")
    if len(parts) != 2 or not all(parts):
        raise ViolationError


class LocalNames:
    """What a topology calls its topics: `full` maps these names to complete ones."""

    def __init__(self, full: Mapping[str, str]) -> None:
        self.full = full
        self._local = {name: local for local, name in full.items()}

    def full_of(self, local: str) -> str:
        """Return the complete name of a topic of the topology, or of a partition of one.

        Raises UsageError for any other.
        """
        if local not in self.full and base_topic(local) not in self.full:
            raise UsageError(f"topic {local!r}: expected one of the topology's: {', '.join(sorted(self.full))}")
        return renamed(local, self.full)

    def local_of(self, full: str) -> str:
        """Return the local name for a complete one; a topic that is not in the topology keeps its complete name."""
        return renamed(full, self._local)
