"""Code of the application that the client calls while it sends."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from assay_conformance.client.values import Outgoing, Result

Router = Callable[[Outgoing, int], int]
"""Of a message and the number of partitions: where it goes."""


class Interceptor(Protocol):
    def before_send(self, message: Outgoing) -> Outgoing:
        """Return the message to send in place of this one; called before anything else looks at it."""
        ...

    def acknowledged(self, message: Outgoing, result: Result) -> None:
        """Note how the send of a message ended; called before the application's call returns."""
        ...


@dataclass(frozen=True, slots=True)
class Hooks:
    router: Router | None = None
    interceptor: Interceptor | None = None


NO_HOOKS = Hooks()
