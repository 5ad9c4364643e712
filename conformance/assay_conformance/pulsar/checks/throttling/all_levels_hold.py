from __future__ import annotations

from assay_conformance.pulsar.checks.throttling._rates import throttles_all
from assay_conformance.pulsar.checks.throttling._windows import judge_kept
from assay_conformance.pulsar.timeline import Says, Timeline, check, each


@check("throttling.all-levels-hold", where=throttles_all)
def all_levels_hold(timeline: Timeline) -> Says:
    """throttling.all-levels-hold: where several levels have rates, each holds as if it were alone. (A lower
    bound would hold for the tightest only.)"""
    shared = [one for one in timeline.limiters if one.level.shared and one.rate.messages > 0]
    yield from each(shared, judge_kept, timeline)
