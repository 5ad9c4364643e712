"""Brokers that mix schemas up."""

from __future__ import annotations

from assay_conformance.broker.schemas import Schemas, Version
from assay_conformance.model.policy import SchemaCompatibility
from assay_conformance.wire.pulsar_pb2 import Schema


class AdmitsOtherSchemaType(Schemas):
    """A schema of another type than the topic's is admitted without a compatibility check."""

    breaks = "schema.other-type-refused"
    stands_for = "a compatibility check chosen by the new schema's type only"

    def check(self, topic: str, schema: Schema, rule: SchemaCompatibility) -> None:
        latest = self.latest(topic)
        if latest is None or latest.schema.type == schema.type:
            super().check(topic, schema, rule)


class AnswersLatestSchema(Schemas):
    """GET_SCHEMA is answered with the latest schema, whichever version it requests."""

    breaks = "schema.versions-kept-apart"
    stands_for = "a cache of schemas by topic, and not by version"

    def find(self, topic: str, version: bytes) -> Version | None:
        latest = self.latest(topic)
        return None if latest is None else latest._replace(number=int.from_bytes(version, "big"))
