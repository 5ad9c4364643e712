from __future__ import annotations

from assay_conformance.model.event import Completion, ErrorClass, Outcome
from assay_conformance.pulsar.timeline import Exercised, Says, Timeline, breach, check, ms


@check("routing.partition-switch-frequency-minimum", of=lambda timeline: timeline.events.completions("open_producer"))
def partition_switch_frequency_minimum(timeline: Timeline, end: Completion) -> Says:
    """routing.partition-switch-frequency-minimum: a window of less than one publish delay is refused."""
    delays = timeline.view.producer_setting(end.handle or 0, "batching_partition_switch_frequency")
    if delays is None or int(delays) >= 1 or end.outcome is Outcome.UNSUPPORTED:
        return
    if end.error is ErrorClass.INVALID_CONFIG:
        yield Exercised(end)
    elif end.outcome is Outcome.OK:
        yield breach(
            "taken",
            f"producer {end.handle} was opened at {ms(end.t_ns)} with windows of {delays} publish delays; expected "
            "the open call to fail, since a window needs at least one for a batch to fill",
            *(timeline.call(end), end),
        )
