"""Where a client's credentials come from: the application's supplier, which is asked anew each time."""

from __future__ import annotations

from collections import deque

from assay_conformance.client.settings import ClientSettings
from assay_conformance.model.credentials import Supplied, supplied


class Supplier:
    """`present`: whether there is any authentication."""

    def __init__(self, settings: ClientSettings) -> None:
        answers = [Supplied(data=token.encode()) for token in (settings.tokens or "").split(",") if settings.tokens]
        self._answers = deque(supplied(settings.credentials) if settings.credentials else answers)
        self.present = bool(self._answers)

    def ask(self) -> Supplied:
        """Return the next answer; the last one is repeated."""
        return self._answers.popleft() if len(self._answers) > 1 else self._answers[0]
