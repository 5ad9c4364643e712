"""Topic names: `persistent://tenant/namespace/topic`, what may be left out of it, and its partitions."""

from __future__ import annotations

import re
from typing import NamedTuple

from assay_conformance.broker.rules import RefusalError
from assay_conformance.wire.pulsar_pb2 import ServerError

DEFAULT_NAMESPACE = "public/default"
_PARTITION = re.compile(r"-partition-(\d+)$")


class TopicName(NamedTuple):
    """A complete name. `namespace` is `tenant/namespace`; `partition` is -1 for a topic that is no partition."""

    domain: str
    namespace: str
    local: str

    @property
    def full(self) -> str:
        return f"{self.domain}://{self.namespace}/{self.local}"

    @property
    def partition(self) -> int:
        match = _PARTITION.search(self.local)
        return int(match[1]) if match else -1


def parse(text: str) -> TopicName:
    """The complete name of what a client wrote: `t`, `tenant/ns/t` or `domain://tenant/ns/t`.

    Raises RefusalError (InvalidTopicName).
    """
    domain, scheme, rest = text.partition("://")
    if not scheme:
        domain, rest = "persistent", text if "/" in text else f"{DEFAULT_NAMESPACE}/{text}"
    parts = rest.split("/", 2)
    if domain not in ("persistent", "non-persistent") or len(parts) != 3 or not all(parts):
        raise RefusalError(ServerError.InvalidTopicName, f"Invalid topic name: {text}")
    return TopicName(domain, f"{parts[0]}/{parts[1]}", parts[2])


def partition_of(full: str, index: int) -> str:
    return f"{full}-partition-{index}"


def base_of(full: str) -> str:
    """The full name of the topic this is a partition of; its own where it is none."""
    return _PARTITION.sub("", full)
