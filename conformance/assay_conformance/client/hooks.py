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
        """What is sent in its place: ahead of everything else that looks at it."""
        ...

    def acknowledged(self, message: Outgoing, result: Result) -> None:
        """How its send ended: ahead of whoever waits for that."""
        ...


@dataclass(frozen=True, slots=True)
class Hooks:
    router: Router | None = None
    interceptor: Interceptor | None = None


NO_HOOKS = Hooks()
