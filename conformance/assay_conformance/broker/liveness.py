"""Whether the client at the other end still lives: the keep-alive of every connection, and the question in between."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from assay_conformance.broker import replies
from assay_conformance.broker.timers import Timer
from assay_conformance.wire import CommandType

if TYPE_CHECKING:
    from assay_conformance.broker.session import Session


class Liveness:
    """One connection's. Any frame is a sign of life."""

    __slots__ = ("_asking", "_session", "_silent", "_timer", "_waiting")

    def __init__(self, session: Session) -> None:
        self._session = session
        self._silent = False
        self._timer = session.host.after(session.host.keep_alive_ms, self._probe)
        self._waiting: list[Callable[[bool], None]] = []
        self._asking: Timer | None = None

    def heard(self) -> None:
        """Note that a frame came."""
        self._silent = False
        if self._waiting:
            self._answer(alive=True)

    def ask(self, answer: Callable[[bool], None]) -> None:
        """Send a PING; call `answer` with True once any frame comes, with False when the client stays silent."""
        self._waiting.append(answer)
        if self._asking is None:
            host = self._session.host
            self._session.send(replies.reply(CommandType.PING))
            self._asking = host.after(host.settings.liveness_check_ms, self._unanswered)

    def stop(self) -> None:
        """Stop probing: the connection has ended."""
        self._timer.cancel()
        self._answer(alive=False)

    def _probe(self) -> None:
        """Send a PING every interval, or end the connection when the last one is unanswered.

        A connection that is not read cannot be judged, and is still sent its PINGs: most clients count them as a sign
        of life.
        """
        session = self._session
        if not session.connected or (self._silent and session.reading.on):
            session.end()
            return
        self._silent = True
        session.send(replies.reply(CommandType.PING))
        self._timer = session.host.after(session.host.keep_alive_ms, self._probe)

    def _unanswered(self) -> None:
        self._session.end()

    def _answer(self, *, alive: bool) -> None:
        if self._asking is not None:
            self._asking.cancel()
            self._asking = None
        waiting, self._waiting = self._waiting, []
        for answer in waiting:
            answer(alive)
