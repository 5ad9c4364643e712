from __future__ import annotations

from typing import Final

from assay_conformance.model.event import Invoke
from assay_conformance.pulsar.timeline import (
    Exercised,
    Registration,
    Says,
    Timeline,
    breach,
    check,
    ms,
    named_registrations,
)

_TYPES: Final = {"string": "String", "json": "Json", "avro": "Avro"}
"""Word of the key `schema` -> what the protocol calls it. Bytes are no schema."""


@check("schema.stated-in-registrations", of=named_registrations)
def stated_in_registrations(timeline: Timeline, named: tuple[Registration, Invoke]) -> Says:
    """schema.stated-in-registrations: a producer or consumer states the schema it was opened with in each PRODUCER or
    SUBSCRIBE."""
    one, opening = named
    frame = one.frame
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
