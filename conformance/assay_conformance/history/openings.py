"""What is open, and what a close or the death of an agent ends of it."""

from __future__ import annotations

from collections.abc import Sequence

from assay_conformance.model.event import AgentEnded, Invoke


class Openings:
    """Producers or consumers by handle and by client, so that an end need not be compared with all that was opened."""

    def __init__(self) -> None:
        self._open: dict[int, Invoke] = {}
        self._of_client: dict[int | None, list[int]] = {}

    def add(self, opening: Invoke) -> None:
        """Take the call that opens one."""
        if opening.handle is None:
            return
        self._open[opening.handle] = opening
        client = opening.args.get("client")
        if client is None or isinstance(client, int):
            self._of_client.setdefault(client, []).append(opening.handle)

    def ended_by(self, end: Invoke | AgentEnded) -> Sequence[int]:
        """Close what this event closes, directly or with its client; return the handles that were open.

        Where an agent ended, that is all of them.
        """
        if isinstance(end, AgentEnded):
            handles = [*self._open]
        else:
            handles = [] if end.handle is None else [end.handle]
            handles += self._of_client.pop(end.handle, ())
        return [handle for handle in handles if self._open.pop(handle, None) is not None]
