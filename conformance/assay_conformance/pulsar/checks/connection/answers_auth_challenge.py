"""AUTH_CHALLENGE during a connection asks for new credentials (PIP-55)."""

from __future__ import annotations

from assay_conformance.checks.base import ms, on
from assay_conformance.checks.consumption import TimedCheck, from_client, late, to_client
from assay_conformance.model.event import Closed, Ended, Event, Frame
from assay_conformance.model.requirement import RequirementId


class AnswersAuthChallenge(TimedCheck):
    """An AUTH_CHALLENGE is answered at once, with credentials, and with new ones where the client has some."""

    requirement = RequirementId("connection.answers-auth-challenge")
    needs = ((Frame, "AUTH_CHALLENGE"),)

    def start(self) -> None:
        self._auth_data: dict[int, object] = {}
        """Connection -> the credentials of its CONNECT."""
        self._challenged: dict[int, Frame] = {}
        *_, last = str(self.view.setting("client", "tokens") or "").split(",")
        self._last = last.encode().hex()
        """The last credentials of the list, after which there are no new ones; every CONNECT takes the next."""

    @on(Frame, "CONNECT")
    def opened(self, event: Frame) -> None:
        if from_client(event):
            self._auth_data[event.conn] = event.fields.get("auth_data")

    @on(Frame, "AUTH_CHALLENGE")
    def challenged(self, event: Frame) -> None:
        if to_client(event):
            self._challenged.setdefault(event.conn, event)

    @on(Frame, "AUTH_RESPONSE")
    def answered(self, event: Frame) -> None:
        challenge = self._challenged.pop(event.conn, None) if from_client(event) else None
        if challenge is None:
            return
        self.exercise(event)
        self._late(challenge, event, event.t_ns)
        response = event.fields.get("response") or {}
        auth_data = response.get("auth_data") if isinstance(response, dict) else None
        if auth_data is None:
            self._wrong(challenge, event, "no-credentials", "the AUTH_RESPONSE at {} carries none")
        elif auth_data == self._auth_data.get(event.conn) and auth_data != self._last:
            self._wrong(challenge, event, "old-credentials", "the AUTH_RESPONSE at {} repeats those of CONNECT")

    @on(Closed)
    def closed(self, event: Closed) -> None:
        challenge = self._challenged.pop(event.conn, None)
        if challenge is not None:
            self._late(challenge, event, event.t_ns)

    @on(Ended)
    def case_ended(self, event: Ended) -> None:
        for challenge in self._challenged.values():
            self._late(challenge, event, event.t_ns)

    def _wrong(self, challenge: Frame, event: Frame, code: str, came: str) -> None:
        self.breach(
            code,
            f"connection {challenge.conn} got AUTH_CHALLENGE at {ms(challenge.t_ns)}; expected new credentials; "
            f"{came.format(ms(event.t_ns))}",
            challenge,
            event,
        )

    def _late(self, challenge: Frame, event: Event, seen_ns: int) -> None:
        if late("answer", challenge.t_ns, seen_ns):
            self.overdue(
                "answer",
                challenge.t_ns,
                seen_ns,
                "no-answer",
                f"connection {challenge.conn} got AUTH_CHALLENGE at {ms(challenge.t_ns)}; expected AUTH_RESPONSE at "
                f"once, since the broker closes the connection without one; none had left by {ms(seen_ns)}",
                challenge,
                event,
            )
