"""What an attempt says of schemas: which one a version is, what was opened with which, and what messages name."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from assay_conformance.model.event import Frame, Position, Received, Stored
from assay_conformance.model.topic_names import base_topic
from assay_conformance.pulsar.timeline import Timeline

Version = tuple[str, str]
"""Topic and version: partitions share the schemas of their topic."""


def topic_of(timeline: Timeline, frame: Frame) -> str:
    return base_topic(timeline.local_topic(frame))


def versions(timeline: Timeline) -> dict[Version, dict[str, Any]]:
    """Return by version the schema that it was first given for."""
    found: dict[Version, dict[str, Any]] = {}
    for one in timeline.producer_registrations:
        schema, version = one.frame.fields.get("schema"), version_in(one.answer)
        if schema is not None and version:
            found.setdefault((topic_of(timeline, one.frame), version), schema)
    return found


def version_in(answer: Frame | None) -> str:
    """Return the schema version of an answer; empty where it names none."""
    return "" if answer is None else str(answer.fields.get("schema_version", ""))


class Written(NamedTuple):
    """The version of the Avro schema that a message was written with. `is_own`: its consumer has the same schema."""

    version: Version
    is_own: bool


def written_with(timeline: Timeline, message: Received) -> Written | None:
    """Return what a message of an Avro consumer was written with; None where that is not known."""
    opening = timeline.opening_of(message.handle)
    own = {} if opening is None else opening.args.get("config", {})
    if timeline.view.setting("consumer", "schema", own) != "avro" or message.topic is None:
        return None
    topic = timeline.local_name(message.topic)
    version = base_topic(topic), timeline.once(_named_versions).get((topic, message.message_id.position), "")
    schema = timeline.once(versions).get(version)
    definition = parsed(str(timeline.view.setting("consumer", "schema_definition", own)))
    return None if schema is None else Written(version, definition_of(schema) == definition)


def _named_versions(timeline: Timeline) -> dict[tuple[str, Position], str]:
    """Return by topic and position of each entry the version that it names."""
    stored = (one for one in timeline.events.of(Stored) if one.described is not None)
    return {(one.topic, one.id.position): one.meta.schema_version or "" for one in stored}


def definition_of(schema: dict[str, Any]) -> object:
    """Return what the definition means as JSON, however it was written; as text where that is none."""
    return parsed(bytes.fromhex(schema.get("schema_data", "")).decode("utf-8", "replace"))


def parsed(definition: str) -> object:
    try:
        return json.loads(definition)
    except (ValueError, RecursionError):
        return definition
