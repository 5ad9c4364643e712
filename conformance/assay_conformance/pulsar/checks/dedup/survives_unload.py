from __future__ import annotations

from assay_conformance.pulsar.checks.dedup._copies import Copied, Copies, Record, duplicates_of
from assay_conformance.pulsar.checks.dedup._last_ids import LastId
from assay_conformance.pulsar.timeline import Exercised, Says, Timeline, breach, check, each, ms


@check("dedup.survives-unload")
def survives_unload(timeline: Timeline) -> Says:
    """dedup.survives-unload: what a broker knows of producer names outlives the load of a topic that another broker
    served before. Judged by duplicates of what was stored before the load, and by the last id that a producer of that
    name gets."""
    yield from duplicates_of(timeline, Copied.LOADED)
    yield from each(timeline.once(Copies).survivors, _judge_remembered)


def _judge_remembered(survivor: tuple[LastId, Record]) -> Says:
    ((topic, name), id, event), record = survivor
    if id >= record.highest:
        yield Exercised(event)
        return
    yield breach(
        "forgotten",
        f"sequence id {record.highest} of producer {name} was stored on topic {topic} by {ms(record.event.t_ns)}; "
        f"after the topic was loaded again, PRODUCER_SUCCESS at {ms(event.t_ns)} carries {id} as the last sequence id; "
        f"expected at least {record.highest}",
        *(record.event, event),
    )
