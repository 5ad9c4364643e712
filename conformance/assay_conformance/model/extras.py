"""How to install what an extra of assay brings. Assay is installed from a checkout: no package index has it."""

from __future__ import annotations


def installing(*extras: str) -> str:
    """The command, to be run in the checkout."""
    return f"pip install '.[{','.join(sorted(set(extras)))}]'"


def install(*extras: str) -> str:
    """What a sentence that misses something asks for."""
    return f"`{installing(*extras)}` in the checkout of assay"
