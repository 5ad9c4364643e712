"""Clients that lose sight of schemas."""

from __future__ import annotations

from collections.abc import Sequence

from assay_conformance.client.consumer import Consumer
from assay_conformance.client.handler import Handler
from assay_conformance.client.ops import OpBuilder, Sent
from assay_conformance.client.producer import Producer
from assay_conformance.client.refusal import Refusal
from assay_conformance.client.schemas import WriterSchemas
from assay_conformance.client.subscription import Subscription
from assay_conformance.client.values import Failed
from assay_conformance.model.event import ErrorClass
from assay_conformance.wire import MessageMetadata
from assay_conformance.wire import pulsar_pb2 as pb


class SchemaStatedOnce(Producer):
    """A producer states its schema in its first PRODUCER only."""

    breaks = "schema.stated-in-registrations"
    stands_for = "a reconnect with a command builder of its own"

    def _stated_schema(self) -> pb.Schema | None:
        return None if self.registrations else super()._stated_schema()


class ConsumerStatesNoSchema(Consumer):
    """A consumer sends no schema in SUBSCRIBE."""

    breaks = "schema.stated-in-registrations"
    stands_for = "a schema used for decoding only"

    def _stated_schema(self) -> pb.Schema | None:
        return None


class SchemaVersionUnread(Producer):
    """The schema version in PRODUCER_SUCCESS is not read."""

    breaks = "schema.version-in-metadata"
    stands_for = "only the name and the last sequence id of PRODUCER_SUCCESS are read"

    def _version_in(self, body: pb.CommandProducerSuccess) -> bytes:
        return b""


class BatchWithoutSchemaVersion(OpBuilder):
    """Batches do not state their schema version."""

    breaks = "schema.version-in-metadata"
    stands_for = "metadata filled in in two places, for messages and for batches"

    def _batch_metadata(self, batch: Sequence[Sent], unix_ms: int) -> MessageMetadata:
        metadata = super()._batch_metadata(batch, unix_ms)
        metadata.ClearField("schema_version")
        return metadata


class ReadsWithOwnSchema(WriterSchemas):
    """Every value is read with the consumer's own schema."""

    breaks = "schema.asks-for-written-version"
    stands_for = "pulsar-client-python before 3.2: AvroSchema decodes only with the reader's schema"

    def _needs(self, version: bytes) -> bool:
        return False


class KeepsOneWriterSchema(WriterSchemas):
    """The first schema that was requested is used for all versions."""

    breaks = "schema.asks-for-written-version"
    stands_for = "a cache of schemas by topic, and not by version"

    def _needs(self, version: bytes) -> bool:
        return not (self._known or self._waiting) and super()._needs(version)


class RetriesRefusedSchema(Handler):
    """An opening that gets IncompatibleSchema is repeated until the operation time-out."""

    breaks = "schema.incompatible-is-final"
    stands_for = "IncompatibleSchema among the errors that a retry may heal"

    def _is_final(self, refusal: Refusal) -> bool:
        return refusal.code != pb.IncompatibleSchema and super()._is_final(refusal)


class BatchHasNoSchema(Subscription):
    """Messages of a batch receive have no value."""

    breaks = "schema.own-values-are-read"
    stands_for = "messages that are wrapped in two places, of which one knows the schema"

    _in_batches = False

    def batch_receive(self, op: int) -> None:
        self._in_batches = True
        super().batch_receive(op)

    def value(self, op: int, numbers: Sequence[int]) -> None:
        if self._in_batches:
            self._shared.sink.completed(op, Failed(ErrorClass.OTHER, "the message has no schema", certain=True))
        else:
            super().value(op, numbers)
