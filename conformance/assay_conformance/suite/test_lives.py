"""What is drawn of the client's lives, area by area; collected with `--assay-lives PROFILE` only."""

from __future__ import annotations

from typing import Protocol


class LivedItem(Protocol):
    """What the exploration of one area came to, as the plugin's fixture provides it."""

    def settle(self) -> None:
        """Pass, or end the item as pytest failure or skip, with the sentences of what was found."""
        ...


def test_lives(assay_lives: LivedItem) -> None:
    """The client lives through what this area draws: nothing breaks that is not listed as known."""
    assay_lives.settle()
