from __future__ import annotations

from collections.abc import Iterator

from assay_conformance.model.event import Completion, Outcome, Received
from assay_conformance.model.topic_names import base_topic
from assay_conformance.pulsar.checks.schema._versions import (
    Version,
    definition_of,
    openings,
    parsed,
    topic_of,
    versions,
    written_versions,
)
from assay_conformance.pulsar.timeline import Exercised, Says, Timeline, breach, check, ms

Read = tuple[Completion, Received]


def _read(timeline: Timeline) -> Iterator[Read]:
    """Yield each value that was read, with the call's end."""
    ends = [end for end in timeline.ends("value") if end.outcome is Outcome.OK]
    handed = {(one.handle, one.delivery): one for one in timeline.events.of(Received)} if ends else {}
    for end in ends:
        named = (handed.get((end.handle or 0, ordinal)) for ordinal in timeline.call(end).args.get("messages", ()))
        yield from ((end, message) for message in named if message is not None)


@check("schema.asks-for-written-version", of=_read)
def asks_for_written_version(timeline: Timeline, read: Read) -> Says:
    """schema.asks-for-written-version: before a value is read that was written with another Avro schema than the
    consumer's own, the client has requested that version with GET_SCHEMA. A version that it knows already, as from an
    earlier value, need not be requested again."""
    end, message = read
    opening = timeline.once(openings).get(-1 if end.handle is None else end.handle)
    own = {} if opening is None else opening.args.get("config", {})
    if timeline.view.setting("consumer", "schema", own) != "avro" or message.topic is None:
        return
    topic = timeline.local_name(message.topic)
    named = timeline.once(written_versions).get((topic, message.message_id.position), "")
    version: Version = (base_topic(topic), named)
    written = timeline.once(versions).get(version)
    definition = parsed(str(timeline.view.setting("consumer", "schema_definition", own)))
    if written is None or definition_of(written) == definition:
        return
    yield Exercised(end)
    asked = (one for one in timeline.events.frames("GET_SCHEMA") if one.seq < end.seq)
    if not any((topic_of(timeline, one), str(one.fields.get("schema_version", ""))) == version for one in asked):
        text = f"consumer {end.handle}: message {message.message_id} of {topic} names schema version {named}, which is"
        came = (
            "not the consumer's own; expected GET_SCHEMA for that version first; its value was read at "
            f"{ms(end.t_ns)} without one"
        )
        yield breach("not-asked", f"{text} {came}", message, end)
