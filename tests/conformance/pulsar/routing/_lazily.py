"""Histories of a producer of three partitions that starts lazily."""

from __future__ import annotations

from assay_conformance.history.script import PRODUCER, Script
from assay_conformance.model.event import Frame


class Lazily(Script):
    def __init__(self, lazy: bool = True) -> None:
        super().__init__()
        config = {"lazy_start_partitioned_producers": lazy}
        self.invoke("open_producer", PRODUCER, args={"topic": "t", "config": config})
        self.connected()

    def registers(self, partition: int, *, answered: bool = True) -> Frame:
        asked = self.producer_asks(producer_id=partition, topic=f"t-partition-{partition}")
        if answered:
            fields = {"producer_name": "p", "last_sequence_id": -1}
            self.down("PRODUCER_SUCCESS", request_id=asked.request_id, fields=fields)
        return asked
