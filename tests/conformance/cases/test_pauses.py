"""What must come after something is held until that is seen: no fixed pause of a Case decides a verdict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from assay_conformance.model.case import Case
from assay_conformance.model.fault import Delay, Fault, Until
from assay_conformance.model.outside import Means, means_of
from assay_conformance.pulsar.cases import all_cases

PAUSES: Mapping[str, str] = {
    "connection/slow-handshake": "what is wrong leaves right behind CONNECT; a client that waits may wait for any time",
    "listener/acks-before-last-topic-is-open": "a client may call the handler as soon as it has messages, or wait",
    **dict.fromkeys(
        ("robustness/closed-before-connected-consumer", "robustness/closed-before-connected-producer"),
        "a client that has got CONNECTED when it is closed finishes the opening, or ends it with a failure",
    ),
    "routing/short-and-long-batching-windows": "it is how far away the broker is, for two producers that are compared",
}
"""Cases that keep frames back for a fixed time, and why the verdict does not depend on how long that is."""


def _pauses(case: Case) -> Iterator[Fault]:
    for fault in case.faults:
        of_frames = means_of(fault.action) is Means.FRAMES
        timed = fault.until.after_ms is not None and fault.until == Until(after_ms=fault.until.after_ms)
        if isinstance(fault.action, Delay) or (of_frames and timed):
            yield fault


def test_frames_are_kept_back_for_a_fixed_time_only_where_that_decides_nothing() -> None:
    assert {case.id for case in all_cases() if any(_pauses(case))} == set(PAUSES)
