"""Schemas: how PRODUCER and SUBSCRIBE state them, and those that received messages were written with.

Avro data can be read only with the schema they were written with, which a message names by its version. As in the Java
client (MultiVersionSchemaInfoProvider) it is asked for when a value of that version is asked for first, and kept; where
the broker does not know the version, the consumer's own schema stands in.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from assay_conformance.client.lookup import Lookup
from assay_conformance.client.refusal import Refusal
from assay_conformance.client.settings import ConsumerSettings, ProducerSettings, SchemaType
from assay_conformance.client.values import Done, Result
from assay_conformance.wire import Frame
from assay_conformance.wire import pulsar_pb2 as pb

_TYPES: dict[SchemaType, pb.Schema.Type] = {
    SchemaType.STRING: pb.Schema.String,
    SchemaType.JSON: pb.Schema.Json,
    SchemaType.AVRO: pb.Schema.Avro,
}


def stated_schema(settings: ProducerSettings | ConsumerSettings) -> pb.Schema | None:
    """Return what the broker is to know of it; None for bytes, which have none."""
    kind = None if settings.schema is None else _TYPES.get(settings.schema)
    if kind is None:
        return None
    return pb.Schema(name="", type=kind, schema_data=(settings.schema_definition or "").encode())


class WriterSchemas:
    """The schemas that the messages of one consumer were written with."""

    def __init__(self, lookup: Lookup, settings: ConsumerSettings) -> None:
        self._lookup = lookup
        self._settings = settings
        self._known: dict[bytes, pb.Schema | None] = {}
        self._waiting: dict[bytes, list[Callable[[Result], None]]] = {}

    def find(self, topic: str, version: bytes, found: Callable[[Result], None]) -> None:
        """Call `found` once there is all that values of this version need."""
        if not self._needs(version):
            found(Done())
            return
        asked, waiting = version in self._waiting, self._waiting.setdefault(version, [])
        waiting.append(found)
        if not asked:
            self._lookup.schema(topic, version, partial(self._answered, version))

    def _answered(self, version: bytes, answer: Frame | Refusal) -> None:
        result: Result = Done()
        if isinstance(answer, Refusal) and answer.code != pb.TopicNotFound:
            result = answer.failed()
        else:
            self._known[version] = None if isinstance(answer, Refusal) else answer.body.schema
        for found in self._waiting.pop(version):
            found(result)

    def _needs(self, version: bytes) -> bool:
        return self._settings.schema is SchemaType.AVRO and bool(version) and version not in self._known
