"""Credentials that are asked for again while a connection lasts (PIP-55)."""

from __future__ import annotations

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.consumption import TimedCheck, from_client, late, to_client
from assay_conformance.model.event import Closed, Ended, Event, Frame
from assay_conformance.model.requirement import RequirementId


class AnswersAuthChallenge(TimedCheck):
    """At once, with credentials, and with fresh ones where the client was given some."""

    requirement = RequirementId("connection.answers-auth-challenge")
    needs = ((Frame, "AUTH_CHALLENGE"),)

    def start(self) -> None:
        self._said: dict[int, object] = {}
        """Connection -> the credentials it was opened with."""
        self._asked: dict[int, Frame] = {}
        *_, last = str(self.view.setting("client", "tokens") or "").split(",")
        self._last = last.encode().hex()
        """The credentials behind which there are no fresher ones; every CONNECT takes the next."""

    @on(Frame, "CONNECT")
    def opened(self, event: Frame) -> None:
        if from_client(event):
            self._said[event.conn] = event.fields.get("auth_data")

    @on(Frame, "AUTH_CHALLENGE")
    def asked(self, event: Frame) -> None:
        if to_client(event):
            self._asked.setdefault(event.conn, event)

    @on(Frame, "AUTH_RESPONSE")
    def answered(self, event: Frame) -> None:
        asked = self._asked.pop(event.conn, None) if from_client(event) else None
        if asked is None:
            return
        self.exercise(event)
        self._late(asked, event, event.t_ns)
        response = event.fields.get("response") or {}
        said = response.get("auth_data") if isinstance(response, dict) else None
        if said is None:
            self._wrong(asked, event, "no-credentials", "the answer at {} carries none")
        elif said == self._said.get(event.conn) and said != self._last:
            self._wrong(asked, event, "old-credentials", "the answer at {} carries those of its beginning again")

    @on(Closed)
    def closed(self, event: Closed) -> None:
        asked = self._asked.pop(event.conn, None)
        if asked is not None:
            self._late(asked, event, event.t_ns)

    @on(Ended)
    def over(self, event: Ended) -> None:
        for asked in self._asked.values():
            self._late(asked, event, event.t_ns)

    def _wrong(self, asked: Frame, event: Frame, code: str, came: str) -> None:
        self.breach(
            code,
            f"connection {asked.conn} was asked for fresh credentials at {ms(asked.t_ns)}; "
            f"{came.format(ms(event.t_ns))}",
            asked,
            event,
        )

    def _late(self, asked: Frame, event: Event, seen_ns: int) -> None:
        if late("answer", asked.t_ns, seen_ns):
            self.overdue(
                "answer",
                asked.t_ns,
                seen_ns,
                "no-answer",
                f"connection {asked.conn} was asked for fresh credentials at {ms(asked.t_ns)}, and had not answered by "
                f"{ms(seen_ns)}: a broker ends connections that do not",
                asked,
                event,
            )
