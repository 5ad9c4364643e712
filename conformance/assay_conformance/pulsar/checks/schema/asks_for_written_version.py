from __future__ import annotations

from collections.abc import Iterator

from assay_conformance.model.event import Completion, Outcome, Received
from assay_conformance.pulsar.checks.schema._versions import topic_of, written_with
from assay_conformance.pulsar.timeline import Exercised, Says, Timeline, breach, check, ms

Read = tuple[Completion, Received]


def _read(timeline: Timeline) -> Iterator[Read]:
    """Yield each value that was read, with the call's end."""
    for end in (one for one in timeline.ends("value") if one.outcome is Outcome.OK):
        ordinals = timeline.call(end).args.get("messages", ())
        named = (timeline.delivered(end.handle or 0, ordinal) for ordinal in ordinals)
        yield from ((end, message) for message in named if message is not None)


@check("schema.asks-for-written-version", of=_read)
def asks_for_written_version(timeline: Timeline, read: Read) -> Says:
    """schema.asks-for-written-version: before a value is read that was written with another Avro schema than the
    consumer's own, the client has requested that version with GET_SCHEMA. A version that it knows already, as from an
    earlier value, need not be requested again."""
    end, message = read
    written = written_with(timeline, message)
    if written is None or written.is_own:
        return
    topic, named = written.version
    yield Exercised(end)
    asked = (one for one in timeline.events.frames("GET_SCHEMA") if one.seq < end.seq)
    if not any(
        (topic_of(timeline, one), str(one.fields.get("schema_version", ""))) == written.version for one in asked
    ):
        text = f"consumer {end.handle}: message {message.message_id} of {topic} names schema version {named}, which is"
        came = (
            "not the consumer's own; expected GET_SCHEMA for that version first; its value was read at "
            f"{ms(end.t_ns)} without one"
        )
        yield breach("not-asked", f"{text} {came}", message, end)
