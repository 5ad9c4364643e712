"""The same Case under other circumstances: with every value of every axis that it is indifferent to.

The permutations of a Case contain every pair of values that it allows. Their ids say what is not as in the Case itself:
`resend/queue-order@lz4+exclusive`.
"""

from __future__ import annotations

from assay_conformance.cases.permutations.axes import AXES, Axis, Value
from assay_conformance.cases.permutations.covering import covering, pairs_of
from assay_conformance.cases.permutations.permuting import (
    VALUES,
    Allows,
    available,
    open_to,
    permutations,
    permuted,
    rows,
)
from assay_conformance.cases.permutations.selecting import spread

__all__ = [
    "AXES",
    "VALUES",
    "Allows",
    "Axis",
    "Value",
    "available",
    "covering",
    "open_to",
    "pairs_of",
    "permutations",
    "permuted",
    "rows",
    "spread",
]
