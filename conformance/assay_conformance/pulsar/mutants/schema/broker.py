"""Brokers that mix schemas up."""

from __future__ import annotations

from assay_conformance.broker.schemas import Schemas, Version
from assay_conformance.model.policy import SchemaCompatibility
from assay_conformance.wire.pulsar_pb2 import Schema


class AdmitsOtherSchemaType(Schemas):
    """Schemas of different types are not compared."""

    breaks = "schema.other-type-refused"
    stands_for = "a compatibility check chosen by the new schema's type, which knows no other"

    def check(self, topic: str, schema: Schema, rule: SchemaCompatibility) -> None:
        latest = self.latest(topic)
        if latest is None or latest.schema.type == schema.type:
            super().check(topic, schema, rule)


class AnswersLatestSchema(Schemas):
    """GET_SCHEMA is answered with the latest schema, whichever version it asks for."""

    breaks = "schema.versions-kept-apart"
    stands_for = "a cache of schemas by topic, and not by version"

    def find(self, topic: str, version: bytes) -> Version | None:
        latest = self.latest(topic)
        return None if latest is None else latest._replace(number=int.from_bytes(version, "big"))
