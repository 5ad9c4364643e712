"""Routing checks, both ways, on histories of a few lines. Topic `t` has five partitions."""

from __future__ import annotations

from typing import Any

import msgspec

from assay_conformance.checks.base import Check
from assay_conformance.checks.trial import ANY_CASE, trial
from assay_conformance.history.script import PRODUCER, Script
from assay_conformance.model.case import Case, Topic, Topology

FIVE = msgspec.structs.replace(ANY_CASE, topology=Topology(topics=(Topic(name="t", partitions=5),)))
OTHER = 3
"""The handle of a second producer."""


class Story(Script):
    """A producer with a wire id for each partition; a second one has ids from 10 on."""

    def __init__(self, **config: Any) -> None:
        super().__init__()
        self._open(PRODUCER, config)

    def second(self, **config: Any) -> None:
        self._open(OTHER, config)

    def _open(self, handle: int, config: dict[str, Any]) -> None:
        opening = self.invoke("open_producer", handle, args={"topic": "t", "config": config})
        if handle == PRODUCER:
            self.connected()
        for partition in range(5):
            wire_id = self._wire_id(handle, partition)
            self.producer_ready(producer_id=wire_id, topic=f"t-partition-{partition}", name=f"n{wire_id}")
        self.complete(opening)

    def _wire_id(self, handle: int, partition: int) -> int:
        return partition if handle == PRODUCER else 10 + partition

    def goes(
        self,
        number: int,
        partition: int,
        key: str | None = None,
        handle: int = PRODUCER,
        ordering_key: str | None = None,
    ) -> None:
        """Message `number` is asked for, and leaves for a partition."""
        named: dict[str, Any] = {} if key is None else {"key": key}
        if ordering_key is not None:
            named["ordering_key"] = ordering_key
        self.send(number, handle, **named)
        self.send_frame(number, producer_id=self._wire_id(handle, partition), handle=handle, sequence_id=number)

    def judged(self, check: type[Check], case: Case = FIVE) -> tuple[list[str], int]:
        said = trial(check, self.done(), case)
        return [finding.code for finding in said.findings], said.exercised
