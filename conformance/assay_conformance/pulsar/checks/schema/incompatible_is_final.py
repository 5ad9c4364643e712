from __future__ import annotations

from assay_conformance.pulsar.checks._final_errors import Final, judge_final
from assay_conformance.pulsar.timeline import Says, Timeline, check


@check("schema.incompatible-is-final")
def incompatible_is_final(timeline: Timeline) -> Says:
    """schema.incompatible-is-final: a producer or consumer that gets IncompatibleSchema does not register again.

    One that had been admitted before is not judged: an administrator may undo the change that its schema does not fit.
    """
    yield from judge_final(
        timeline, Final("IncompatibleSchema", "its schema does not fit", ends_openings=True, only_openings=True)
    )
