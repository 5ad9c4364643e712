"""How much is drawn: a little in CI, a lot at night. The profile is Hypothesis's, by `HYPOTHESIS_PROFILE`."""

from __future__ import annotations

import os

PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "ci")
NIGHTLY = PROFILE == "nightly"
EXAMPLES = {"ci": 100, "nightly": 1_000}
"""Of a property that asks for no other number."""


def scaled(in_ci: int) -> int:
    """Of a property that costs more or less than others: as many in CI, and at night as many times more as of them."""
    return in_ci * EXAMPLES[PROFILE] // EXAMPLES["ci"]
