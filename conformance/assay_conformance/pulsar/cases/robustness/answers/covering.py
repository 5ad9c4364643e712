"""A covering set of cells: each request in each of its phases, and each answer."""

from __future__ import annotations

from typing import Final

from assay_conformance.model.case import Case
from assay_conformance.pulsar.cases.robustness.answers.cells import case_of, covering

CASES: Final[tuple[Case, ...]] = tuple(case_of(cell) for cell in covering())
