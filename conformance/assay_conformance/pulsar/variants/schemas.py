"""Clients that request schemas at another time, or treat a missing version as an error."""

from __future__ import annotations

from assay_conformance.client.consumer import Consumer
from assay_conformance.client.handed import Handed, Inbound
from assay_conformance.client.refusal import Refusal
from assay_conformance.client.schemas import WriterSchemas
from assay_conformance.client.values import Failed, Result
from assay_conformance.model.event import ErrorClass
from assay_conformance.wire import Frame


class SchemaAskedForOnReceive(Consumer):
    """The schema of a version is requested as soon as a message with it is delivered."""

    as_in = "Java client, AutoConsumeSchema: fetchSchemaIfNeeded"
    within = ("schema.asks-for-written-version", "robustness.calls-do-not-hang")

    def handed_over(self, inbound: Inbound) -> Handed:
        handed = super().handed_over(inbound)
        self.value(handed, lambda _result: None)
        return handed


class UnknownSchemaVersionFails(WriterSchemas):
    """A value with a schema version that the broker does not have cannot be read."""

    as_in = "Go client, impl_message.go: GetSchemaValue"
    within = ("schema.asks-for-written-version", "robustness.calls-do-not-hang")

    def _answered(self, version: bytes, answer: Frame | Refusal) -> None:
        if isinstance(answer, Refusal):
            failed: Result = Failed(ErrorClass.SERIALIZATION, answer.text, certain=True)
            for found in self._waiting.pop(version):
                found(failed)
        else:
            super()._answered(version, answer)
