"""What is said of the catalogues that runs were judged by."""

from __future__ import annotations

from bench.judged_by import UNKNOWN, sentence


def test_one_catalogue_for_all_is_named_once() -> None:
    assert sentence({"1.0": ("abc",), "1.1": ("abc",)}) == "All were judged by catalogue `abc`."


def test_versions_judged_by_another_catalogue_are_named() -> None:
    told = sentence({"1.0": ("abc",), "1.1": UNKNOWN, "1.2": ("abc",)})
    assert told == (
        "Not all were judged alike: 1.0, 1.2 by catalogue `abc`; 1.1 by a catalogue that was not written down."
    )


def test_runs_of_one_version_that_were_judged_by_several_were_not_judged_alike() -> None:
    assert sentence({"1.0": ("abc", "def")}) == "Not all were judged alike: 1.0 by catalogue `abc` and `def`."
