"""One seed, one plan: byte for byte, on every Python that is supported and on this machine."""

from __future__ import annotations

import pytest
from bench import same_plan
from tests.profiles import NIGHTLY

from assay_conformance.model.errors import UnavailableError

EVERYWHERE = ("3.11", "3.12", "3.13")
"""Pythons that a night has to have; a newer one is asked where there is one."""


@pytest.mark.parametrize("python", same_plan.SUPPORTED)
def test_every_python_has_the_same_plan_whatever_else_is_imported(python: str) -> None:
    try:
        planned = same_plan.theirs(python)
    except UnavailableError as error:
        if NIGHTLY and python in EVERYWHERE:
            raise
        pytest.skip(str(error))
    assert planned == same_plan.ours()
