"""How the application calls a client."""

from __future__ import annotations

from collections.abc import Callable


class Calls:
    """Each call is made as soon as it is asked for."""

    def make(self, op: int, handle: int, call: Callable[[], None], *, sends: bool = False) -> None:
        """Make the call of operation `op` on a handle of the client."""
        del op, handle, sends
        call()

    def ended(self, op: int) -> None:
        """Make the calls that waited for the end of operation `op`."""
