from __future__ import annotations

from collections.abc import Iterator

from assay_conformance.model.event import FORGED
from assay_conformance.pulsar.checks.schema._versions import topic_of
from assay_conformance.pulsar.timeline import Exercised, Registration, Says, Timeline, breach, check, ms


def _stated(timeline: Timeline) -> Iterator[tuple[Registration, Registration]]:
    """Yield registrations with a schema on a topic that has one of another type, each with the one admitted first."""
    first: dict[str, Registration] = {}
    for one in timeline.registrations:
        topic = topic_of(timeline, one.frame)
        kind = one.frame.fields.get("schema", {}).get("type")
        if kind is None or kind == "AutoConsume" or _is_ruled(timeline, topic):
            continue
        earlier = first.get(topic)
        if earlier is not None and earlier.frame.fields["schema"]["type"] != kind:
            yield one, earlier
        elif earlier is None and one.answer is not None and one.answer.command == "PRODUCER_SUCCESS":
            first[topic] = one


def _is_ruled(timeline: Timeline, topic: str) -> bool:
    """Return whether the Case sets a rule of its own, which may let it in."""
    topology = timeline.topology
    named = topology.named(topic)
    rules = (topology.settings.policies, topology.namespace, *(() if named is None else (named,)))
    return any(rule.schema_compatibility is not None for rule in rules)


@check("schema.other-type-refused", of=_stated)
def other_type_refused(timeline: Timeline, stated: tuple[Registration, Registration]) -> Says:
    """schema.other-type-refused: a producer or consumer that states a schema of another type than its topic's is
    refused with IncompatibleSchema.

    The topic's schema is that of the first producer that was admitted, once its answer was sent.
    """
    one, earlier = stated
    let_in, answer = earlier.answer, one.answer
    if let_in is None or answer is None or let_in.seq > one.frame.seq or answer.fate in FORGED:
        return
    yield Exercised(answer)
    if answer.command in ("PRODUCER_SUCCESS", "SUCCESS"):
        types = [each.frame.fields["schema"]["type"] for each in (earlier, one)]
        yield breach(
            "let-in",
            f"{topic_of(timeline, one.frame)} has had a schema of type {types[0]} since {ms(let_in.t_ns)}; a "
            f"{one.kind} with one of type {types[1]} was admitted at {ms(answer.t_ns)}; expected IncompatibleSchema",
            *(earlier.frame, one.frame, answer),
        )
