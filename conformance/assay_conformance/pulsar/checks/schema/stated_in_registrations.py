from __future__ import annotations

from typing import Final

from assay_conformance.pulsar.checks.schema._versions import topic_of
from assay_conformance.pulsar.timeline import Exercised, Registration, Says, Timeline, breach, check, ms, topics_of

_TYPES: Final = {"string": "String", "json": "Json", "avro": "Avro"}
"""Word of the key `schema` -> what the protocol calls it. Bytes are no schema."""


@check("schema.stated-in-registrations", of=lambda timeline: timeline.registrations)
def stated_in_registrations(timeline: Timeline, one: Registration) -> Says:
    """schema.stated-in-registrations: a producer or consumer states the schema it was opened with in each PRODUCER or
    SUBSCRIBE.

    Its producers of dead and retry letters are not judged: they send bytes.
    """
    frame, opening = one.frame, timeline.opening_of(one.handle)
    is_its_own = opening is not None and topic_of(timeline, frame) in topics_of(timeline, opening)
    if opening is None or not (is_its_own or opening.args.get("pattern")):
        return
    wanted = _TYPES.get(str(timeline.view.setting(one.kind, "schema", opening.args.get("config"))))
    if wanted is None:
        return
    yield Exercised(frame)
    stated = frame.fields.get("schema", {}).get("type")
    if stated != wanted:
        came = "it has none" if stated is None else f"it has one of type {stated}"
        text = f"{one.kind} {one.handle} was opened with a schema of type {wanted}"
        yield breach(
            "not-stated",
            f"{text}; expected that schema in its {frame.command} at {ms(frame.t_ns)}; {came}",
            *(opening, frame),
        )
