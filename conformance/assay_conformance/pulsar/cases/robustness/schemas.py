"""GET_SCHEMA without a usable answer: an error, a late answer, or a version that does not exist."""

from __future__ import annotations

import base64
from typing import Any, Final

from assay_conformance.cases.build import EARLIEST, STARVED_MS, Schedule, down, up
from assay_conformance.cases.stored import plain
from assay_conformance.model.case import Case, Limits
from assay_conformance.model.fault import AnswerError, Fault, Hold, Until
from assay_conformance.pulsar.cases.schema import FIRST, SECOND

_TIMEOUT_MS: Final = 2_000
_LIMITS: Final = Limits(operation_ms=4 * _TIMEOUT_MS)
_READER: Final[dict[str, Any]] = {"durable": False}


def _case(plan: Schedule, words: str, title: str, config: dict[str, Any], **fields: Any) -> Case:
    by = "reader" if config else "consumer"
    return plan.case(
        f"robustness/schema-{words}-{by}",
        title,
        ("robustness.calls-do-not-hang",),
        capabilities=("producer", "consumer", "schema", *(("reader",) if config else ())),
        client={"operation_timeout_ms": _TIMEOUT_MS},
        consumer=EARLIEST,
        limits=_LIMITS,
        **fields,
    )


def _handed(plan: Schedule, config: dict[str, Any]) -> int:
    """Return a consumer of the second schema that has received a message of the first."""
    client = plan.client()
    plan.wait_ops(plan.send(plan.producer(client, **FIRST)))
    plan.wait_ops(plan.close(plan.producer(client, **SECOND)))
    consumer = plan.consumer(client, **SECOND, **config)
    plan.wait_ops(plan.receive(consumer, 1, STARVED_MS))
    return consumer


def refused(error: str, words: str, config: dict[str, Any]) -> Case:
    plan = Schedule()
    consumer = _handed(plan, config)
    plan.wait_ops(plan.value(consumer))
    plan.wait_ops(plan.close(consumer))
    return _case(
        plan,
        words,
        f"GET_SCHEMA is answered with {error} when the application reads the value of a message",
        config,
        faults=(Fault(trigger=up("GET_SCHEMA", times=0), action=AnswerError(error)),),
    )


def late(config: dict[str, Any]) -> Case:
    """Answer after the time-out, when no call waits for it any more; then the value is read again."""
    plan = Schedule()
    consumer = _handed(plan, config)
    plan.wait_ops(plan.value(consumer))
    waited = plan.last
    plan.wait_ops(plan.value(consumer))
    return _case(
        plan,
        "late",
        "The answer to GET_SCHEMA comes after the call has timed out",
        config,
        faults=(Fault(trigger=down("GET_SCHEMA_RESPONSE"), action=Hold(), until=Until(step=waited)),),
    )


def unknown_version(config: dict[str, Any]) -> Case:
    """Store a message with an unknown schema version: reading may fail, or use the reader's own schema."""
    plan, client = Schedule.with_client()
    plan.wait_ops(plan.close(plan.producer(client, **FIRST)))
    entry = {**plain(0), "metadata": {"schema_version": _NEVER_GIVEN}}
    plan.broker("store_entries", topic="t", entries=[entry])
    consumer = plan.consumer(client, **FIRST, **config)
    plan.wait_ops(plan.receive(consumer, 1, STARVED_MS))
    plan.wait_ops(plan.value(consumer))
    return _case(plan, "unknown-version", "A message names a schema version that its topic never had", config)


_NEVER_GIVEN: Final = base64.b64encode((99).to_bytes(8, "big")).decode()
"""Encoded as brokers encode versions."""

_ERRORS: Final = (("UnknownError", "refused"), ("TopicNotFound", "not-found"))

CASES = tuple(
    case
    for config in ({}, _READER)
    for case in (*(refused(error, words, config) for error, words in _ERRORS), late(config), unknown_version(config))
)
