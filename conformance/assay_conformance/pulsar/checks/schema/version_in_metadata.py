from __future__ import annotations

from collections.abc import Iterator

from assay_conformance.model.event import FORGED, Frame
from assay_conformance.pulsar.checks.schema._versions import version_in
from assay_conformance.pulsar.timeline import Exercised, Producer, Says, Timeline, Unit, breach, check, ms


def _units(timeline: Timeline) -> Iterator[tuple[Producer, Unit]]:
    stating = (one for one in timeline.producers if any("schema" in each.request.fields for each in one.sessions))
    return ((line, unit) for line in stating for unit in line.units)


@check("schema.version-in-metadata", of=_units)
def version_in_metadata(timeline: Timeline, sent: tuple[Producer, Unit]) -> Says:
    """schema.version-in-metadata: each message names a schema version that the broker gave to its producer.

    It may be any of them: a message may have been built before a reconnect, and a producer may have further schemas.
    """
    line, unit = sent
    first = unit.first
    if first.meta is None or first.fate in FORGED or not first.from_sender:
        return
    answers = [one.admitted for one in line.sessions if one.admitted is not None and one.admitted.seq < first.seq]
    known = {version_in(answer) for answer in answers}
    if not any(known):
        return
    yield Exercised(first)
    named = first.meta.schema_version or ""
    if named not in known and named not in _further(timeline, first):
        came = f"named {named}" if named else "named none"
        expected = " or ".join(sorted(known - {""}))
        text = (
            f"{line}: expected schema version {expected}, with which the broker answered; {unit}, first sent at "
            f"{ms(first.t_ns)}"
        )
        yield breach("other-version" if named else "no-version", f"{text}, {came}", answers[-1], first)


def _further(timeline: Timeline, before: Frame) -> set[str]:
    answers = timeline.events.frames("GET_OR_CREATE_SCHEMA_RESPONSE")
    return {version_in(answer) for answer in answers if answer.conn == before.conn and answer.seq < before.seq}
