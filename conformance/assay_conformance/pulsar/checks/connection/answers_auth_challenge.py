from __future__ import annotations

from collections.abc import Iterator

from assay_conformance.model.event import ClosedBy, Frame
from assay_conformance.pulsar.checks.connection._credentials import given_in_order, last_given
from assay_conformance.pulsar.timeline import Exercised, Says, Timeline, breach, check, ms


def _challenges(timeline: Timeline) -> Iterator[tuple[Frame, Frame | None]]:
    """Yield every AUTH_CHALLENGE with no other open on its connection, and the AUTH_RESPONSE after it."""
    open_ones: dict[int, Frame] = {}
    for frame in timeline.events.frames("AUTH_CHALLENGE", "AUTH_RESPONSE"):
        if frame.command == "AUTH_CHALLENGE" and frame.to_receiver:
            open_ones.setdefault(frame.conn, frame)
        elif frame.command == "AUTH_RESPONSE" and frame.from_sender and frame.conn in open_ones:
            yield open_ones.pop(frame.conn), frame
    yield from ((challenge, None) for challenge in open_ones.values())


def _announces_none(timeline: Timeline) -> Says:
    """Judge a client that does not announce that it answers: a broker closes its connection."""
    for connect in timeline.events.frames("CONNECT"):
        closed = timeline.closed(connect.conn)
        flags = connect.fields.get("feature_flags") or {}
        announces = isinstance(flags, dict) and flags.get("supports_auth_refresh")
        if "auth_data" in connect.fields and not announces and closed is not None and closed.by is ClosedBy.BROKER:
            yield breach(
                "not-announced",
                f"the CONNECT with credentials on connection {connect.conn} at {ms(connect.t_ns)} lacks the flag "
                f"supports_auth_refresh; expected it, since the agent declares that its client refreshes credentials; "
                f"the broker closed the connection at {ms(closed.t_ns)} instead of asking for new ones",
                *(connect, closed),
            )


@check("connection.answers-auth-challenge", of=_challenges, keeps_away=_announces_none)
def answers_auth_challenge(timeline: Timeline, challenged: tuple[Frame, Frame | None]) -> Says:
    """connection.answers-auth-challenge: an AUTH_CHALLENGE during a connection (PIP-55) is answered at once, with
    credentials, and with new ones where the client has some."""
    challenge, response = challenged
    since = f"connection {challenge.conn} got AUTH_CHALLENGE at {ms(challenge.t_ns)}"
    if response is not None:
        yield Exercised(response)
        wrong = _wrong(timeline, response)
        if wrong is not None:
            code, came = wrong
            came = f"the AUTH_RESPONSE at {ms(response.t_ns)} {came}"
            yield breach(code, f"{since}; expected new credentials; {came}", *challenged)
    if _is_late(timeline):
        return
    seen = response or timeline.closed(challenge.conn) or timeline.ended
    if timeline.bounds.is_missing("answer", challenge.t_ns, seen.t_ns, what="an AUTH_RESPONSE"):
        yield breach(
            "no-answer",
            f"{since}; expected AUTH_RESPONSE at once, since the broker closes the connection without one; none had "
            f"left by {ms(seen.t_ns)}",
            *(challenge, seen),
        )


def _is_late(timeline: Timeline) -> bool:
    """Return whether the application's own supplier is slow, or fails: an answer may then be late, or never come."""
    return any(one.wait_ms or one.data is None for one in given_in_order(timeline))


def _wrong(timeline: Timeline, response: Frame) -> tuple[str, str] | None:
    """Return what is wrong with its credentials.

    Every CONNECT takes the next of the list, and the last can only be repeated.
    """
    connects = [one for one in timeline.events.frames("CONNECT") if one.conn == response.conn and one.from_sender]
    answer = response.fields.get("response") or {}
    given = answer.get("auth_data") if isinstance(answer, dict) else None
    last = last_given(timeline)
    if given is None:
        return "no-credentials", "carries none"
    is_repeated = bool(connects) and given == connects[-1].fields.get("auth_data")
    return ("old-credentials", "repeats those of CONNECT") if is_repeated and given != last.hex() else None
