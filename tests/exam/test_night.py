"""A night has every test, and draws more of every property."""

from __future__ import annotations

import configparser
import re
from pathlib import Path

from hypothesis import settings
from tests.profiles import EXAMPLES, PROFILE, scaled

ROOT = Path(__file__).parents[2]


def test_the_night_runs_every_test() -> None:
    tox = configparser.RawConfigParser()
    tox.read(ROOT / "tox.ini", "utf-8")
    assert tox["testenv:nightly"]["commands"].endswith("{posargs:tests}")


def test_a_property_with_a_number_of_its_own_follows_the_profile() -> None:
    assert scaled(60) == 60 * settings().max_examples // 100 == 60 * EXAMPLES[PROFILE] // 100


def test_no_property_has_a_number_that_no_profile_changes() -> None:
    pinned = re.compile(r"max_examples=\d")
    assert [path for path in ROOT.glob("tests/**/*.py") if pinned.search(path.read_text("utf-8"))] == []
