"""What is likely to show something, learned from what did."""

from __future__ import annotations

from assay_conformance.machines.likelihood import Likelihood


def _learned(*shown: tuple[str, bool]) -> Likelihood:
    """Each (traits, whether it showed), twenty times."""
    likelihood = Likelihood()
    for _ in range(20):
        for traits, was_shown in shown:
            likelihood.saw(traits.split(), was_shown)
    return likelihood


def test_of_what_was_never_run_nothing_is_known() -> None:
    assert Likelihood().of(["chunks"]) == 0.5


def test_what_needs_two_traits_is_likelier_with_both() -> None:
    likelihood = _learned(("chunks cut", True), ("chunks", False), ("cut", False), ("ack", False))
    assert likelihood.of(["chunks", "cut"]) > max(likelihood.of(["chunks"]), likelihood.of(["cut"]))
    assert likelihood.of(["ack"]) < 0.1


def test_a_trait_that_is_met_late_is_learned_from_few_cases() -> None:
    likelihood = _learned(("send", False), ("send ack", False))
    for _ in range(6):
        likelihood.saw(["send", "seek"], True)
    assert likelihood.of(["send", "seek"]) > 0.5 > likelihood.of(["send", "ack"])
