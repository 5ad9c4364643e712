"""Letters that say more of where they come from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from assay_conformance.client.letters import Letters
from assay_conformance.client.values import Outgoing, Result


class LetterNamesSubscription(Letters):
    """A letter has the subscription of the original among its properties."""

    as_in = "Java client, RetryMessageUtil: REAL_SUBSCRIPTION"
    within = ("dead-letter.copy-is-complete", "retry-letter.copy-is-complete")

    def _post(self, topic: str, letter: Outgoing, posted: Callable[[Result], None]) -> None:
        named = {"REAL_SUBSCRIPTION": self._subscription, **letter.properties}
        super()._post(topic, replace(letter, properties=named), posted)
