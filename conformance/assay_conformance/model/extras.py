"""How to install what an extra of assay brings. Assay is installed from a checkout: no package index has it."""

from __future__ import annotations


def installing(*extras: str) -> str:
    """Return the command that installs the extras, to be run in the checkout."""
    return f"pip install '.[{','.join(sorted(set(extras)))}]'"


def install(*extras: str) -> str:
    """Return what a sentence about a missing extra asks for."""
    return f"`{installing(*extras)}` in the checkout of assay"
