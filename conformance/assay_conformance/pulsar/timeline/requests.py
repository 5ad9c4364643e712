"""Requests and what was answered, connection by connection."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from assay_conformance.history.events import Events
from assay_conformance.model.event import Frame
from assay_conformance.pulsar.outcomes import requests as table

_JUDGED_APART: Final = frozenset({"CONNECT", "SEND", "ACK", "AUTH_RESPONSE", "PING"})
"""Commands without a request id; and ACK, whose answers the chapter ack judges."""

LOOKUPS: Final = ("LOOKUP", "PARTITIONED_METADATA")
HANDSHAKE: Final = ("CONNECT", "CONNECTED", "AUTH_CHALLENGE", "AUTH_RESPONSE")
CLOSES: Final = ("CLOSE_PRODUCER", "CLOSE_CONSUMER")

REQUESTS: Final = tuple(one.command for one in table.REQUESTS if one.command not in _JUDGED_APART)
"""Commands whose answer a client awaits for its operation time-out."""

LEFT_OVER: Final = tuple(one for one in REQUESTS if "SCHEMA" not in one and one != "WATCH_TOPIC_LIST")
"""Those that pulsar-rs sends, which leaves a connection over one that is not answered in time."""

_ANSWERED_BY: Final = {one.command: one.answer for one in table.REQUESTS}


class Request(NamedTuple):
    """A command with a request id that a client wrote. `answer`: the first that was written to it, None where none
    was."""

    frame: Frame
    answer: Frame | None

    @property
    def error(self) -> str | None:
        """Of an answer that is one."""
        return None if self.answer is None else self.answer.fields.get("error")

    @property
    def is_answered(self) -> bool:
        """Whether the answer is of the kind that its client waits for, or an error."""
        kinds = (_ANSWERED_BY.get(self.frame.command), "ERROR")
        return self.answer is not None and (self.answer.command in kinds or self.error is not None)


ANSWERS = (
    "ERROR",
    "SUCCESS",
    "PRODUCER_SUCCESS",
    "LOOKUP_RESPONSE",
    "PARTITIONED_METADATA_RESPONSE",
    "GET_LAST_MESSAGE_ID_RESPONSE",
    "GET_TOPICS_OF_NAMESPACE_RESPONSE",
    "GET_SCHEMA_RESPONSE",
    "GET_OR_CREATE_SCHEMA_RESPONSE",
    "CONSUMER_STATS_RESPONSE",
    "WATCH_TOPIC_LIST_SUCCESS",
    "ACK_RESPONSE",
)


def requests(events: Events, answers: Answers, *commands: str) -> list[Request]:
    """Return all requests that clients wrote of these commands, in order."""
    return [Request(frame, answers.to(frame)) for frame in events.frames(*commands) if frame.from_sender]


class Answers:
    """By connection and request id; a hand-written history may use an id twice."""

    def __init__(self, answers: Iterable[Frame]) -> None:
        self._found: dict[tuple[int, int | None], list[Frame]] = {}
        for answer in answers:
            if answer.to_receiver:
                self._found.setdefault((answer.conn, answer.request_id), []).append(answer)

    def to(self, request: Frame) -> Frame | None:
        """Return the first answer after a request: of the kind that answers it, where there is one, or an error."""
        found = self.all_to(request)
        if len(found) > 1:
            kinds = (_ANSWERED_BY.get(request.command), "ERROR")
            found = [one for one in found if one.command in kinds] or found
        return found[0] if found else None

    def all_to(self, request: Frame) -> list[Frame]:
        """Return all answers after a request."""
        found = self._found.get((request.conn, request.request_id), ())
        return [answer for answer in found if answer.seq > request.seq]
