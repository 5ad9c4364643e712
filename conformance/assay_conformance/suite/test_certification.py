"""The plugin runs the selected Cases side by side; each item waits for its Case and settles its verdict."""

from __future__ import annotations

from typing import Protocol


class CertifiedItem(Protocol):
    """What the requirements of one item came to, as the plugin's fixtures provide it."""

    def settle(self) -> None:
        """Pass, or end the item as pytest failure, skip or expected failure, with the finding's sentence."""
        ...


def test_requirement(assay_item: CertifiedItem) -> None:
    """The client keeps this requirement in this Case."""
    assay_item.settle()


def test_other_requirements(assay_others: CertifiedItem) -> None:
    """The client keeps whatever else the history of this Case shows: every check sees every history."""
    assay_others.settle()
