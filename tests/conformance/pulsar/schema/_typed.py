"""Histories of a topic with a schema."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from assay_conformance.history.script import CONSUMER, PRODUCER, Script, entry_id
from assay_conformance.model.event import Frame, MessageId

FIRST, SECOND = "0000000000000000", "0000000000000001"
DEFINITIONS = {version: json.dumps({"type": "record", "name": version}) for version in (FIRST, SECOND)}
TOPIC = "persistent://public/default/t"


def stated(version: str, kind: str = "Avro") -> dict[str, str]:
    return {"name": "", "type": kind, "schema_data": DEFINITIONS[version].encode().hex()}


class Typed(Script):
    """Producers and consumers whose schemas are of type Avro."""

    def opens_producer(self, version: str = FIRST, *, states: bool = True, conn: int = 0, kind: str = "Avro") -> None:
        self.invoke("open_producer", PRODUCER, args={"topic": "t", "config": {"schema": "avro"}})
        self.connected(conn)
        self.lets_in(version, states=states, conn=conn, kind=kind)

    def lets_in(self, version: str = FIRST, *, states: bool = True, conn: int = 0, kind: str = "Avro") -> Frame:
        fields: dict[str, Any] = {"schema": stated(version, kind)} if states else {}
        asked = self.producer_asks(conn, producer_id=conn, **fields)
        answer = {"producer_name": "p", "last_sequence_id": -1, "schema_version": version}
        return self.down("PRODUCER_SUCCESS", conn, request_id=asked.request_id, fields=answer)

    def sends(self, number: int, version: str | None = FIRST) -> None:
        self.send(number)
        frame = self.send_frame(number)
        self.events[-1] = msgspec.structs.replace(
            frame, meta=msgspec.structs.replace(frame.meta, schema_version=version) if frame.meta else None
        )

    def opens_consumer(self, version: str = SECOND) -> None:
        self.consumer(schema="avro", schema_definition=DEFINITIONS[version])

    def holds(self, version: str = FIRST) -> None:
        """The topic holds message 0 of that version, and the consumer was handed it."""
        stored = self.stored(0)
        self.events[-1] = msgspec.structs.replace(
            stored, described=msgspec.structs.replace(stored.meta, schema_version=version)
        )
        self.received(0)

    def asks(self, version: str, answered: str | None = None, *, definition: str | None = None) -> None:
        fields = {"topic": TOPIC, "schema_version": version}
        self.up("GET_SCHEMA", request_id=900, fields=fields)
        if answered is not None:
            answer = {"schema": stated(definition or answered), "schema_version": answered}
            self.down("GET_SCHEMA_RESPONSE", request_id=900, fields=answer)

    def reads(self) -> None:
        self.complete(self.invoke("value", CONSUMER, args={"consumer": CONSUMER, "messages": [1]}))

    @property
    def place(self) -> MessageId:
        return entry_id(0)
