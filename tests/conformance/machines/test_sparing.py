"""Cases that are likely to show what is listed leave their places to others."""

from __future__ import annotations

from assay_conformance.machines.coverage import Coverage
from assay_conformance.machines.sparing import Sparing

BATCHED = Coverage(batched=True)


def _learned(*seen: tuple[str, Coverage, bool]) -> Sparing:
    """Each (traits, what it covered, whether what is listed showed), two hundred times."""
    sparing = Sparing()
    for _ in range(200):
        for traits, covered, broke in seen:
            sparing.saw(traits.split(), covered, broke=broke)
    return sparing


def _of(sparing: Sparing, cases: tuple[str, ...], chosen: set[int], worth: tuple[float, ...] = ()) -> list[str]:
    places = sparing.exchanged([case.split() for case in cases], worth or (1.0,) * len(cases), chosen)
    return sorted(cases[place] for place in places)


def test_the_likeliest_to_break_is_exchanged_for_the_least_likely() -> None:
    sparing = _learned(("seek", Coverage(), True), ("ack", Coverage(), False), ("nack", Coverage(), False))
    assert _of(sparing, ("seek", "ack", "nack"), {0, 1}) == ["ack", "nack"]


def test_one_with_batches_is_exchanged_for_another_with_batches_alone() -> None:
    sparing = _learned(("batch seek", BATCHED, True), ("batch ack", BATCHED, False), ("ack", Coverage(), False))
    assert _of(sparing, ("batch seek", "ack"), {0}) == ["batch seek"]
    assert _of(sparing, ("batch seek", "batch ack"), {0}) == ["batch ack"]


def test_one_that_promises_much_is_not_exchanged_for_one_that_promises_little() -> None:
    sparing = _learned(("seek", Coverage(), True), ("ack", Coverage(), False))
    assert _of(sparing, ("seek", "ack"), {0}, (2.0, 1.0)) == ["seek"]


def test_nothing_is_exchanged_as_long_as_nothing_broke() -> None:
    sparing = _learned(("ack", Coverage(), False))
    assert _of(sparing, ("seek", "ack"), {0}) == ["seek"]
