"""One item per requirement and Case: the plugin runs the selected Cases side by side, each item settles its verdict."""

from __future__ import annotations

from typing import Protocol


class CertifiedItem(Protocol):
    """The judgement of one requirement in one Case, as the plugin's fixture provides it."""

    def settle(self) -> None:
        """Pass, or end the item as pytest failure, skip or expected failure, with the finding's sentence."""
        ...


def test_requirement(assay_item: CertifiedItem) -> None:
    """The client keeps this requirement in this Case."""
    assay_item.settle()
