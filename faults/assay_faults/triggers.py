"""When a frame fault acts: the k-th matching frame in its scope and the `times - 1` after it.

Counting goes on over reconnects unless `per_connection`, for a Case means "the third SEND", however often the client
had to come back to send it.
"""

from __future__ import annotations

from typing import Any, Protocol

from assay_conformance.model.errors import UsageError
from assay_conformance.model.fault import Fault, OnFrame, Scope
from assay_conformance.wire import CommandType, Frame, MetadataError
from assay_faults.fields import body_of, command_type, resolve
from assay_faults.frame_owners import REQUESTS, FrameOwners


class Line(Protocol):
    """The connection that a frame crosses, as far as a scope asks about it."""

    number: int
    broker: int
    listener: str
    parties: FrameOwners


def names_party(scope: Scope) -> bool:
    """Return whether the scope selects by what a frame is about, and not only by where it passes."""
    return any(named is not None for named in (scope.topic, scope.producer_name, scope.subscription, scope.session))


def asks_who(fault: Fault) -> bool:
    """Return whether the trigger depends on earlier frames of the connection."""
    ends = (fault.trigger, fault.until.frame)
    return names_party(fault.scope) or any(isinstance(on, OnFrame) and on.answers for on in ends)


def _request(on: OnFrame, kind: CommandType) -> CommandType | None:
    if not on.answers:
        return None
    request = command_type(on.answers)
    if request not in REQUESTS:
        raise UsageError(f"trigger on {on.command}: {on.answers} is no request that is answered by its id")
    body = body_of(kind)
    if body is None or "request_id" not in body.fields_by_name:
        raise UsageError(f"trigger on {on.command}: it answers no request, expected no `answers`")
    return request


class FrameTrigger:
    """Counts the frames that match, only on connections to `listener` where it is given.

    Raises UsageError when the trigger names a command or field that does not exist.
    """

    __slots__ = (
        "_answers",
        "_broker",
        "_connection",
        "_counts",
        "_listener",
        "_near",
        "_party",
        "_where",
        "count",
        "kind",
        "on",
        "scope",
    )

    def __init__(self, on: OnFrame, scope: Scope, listener: str | None = None) -> None:
        if on.k < 1 or on.times < 0:
            raise UsageError(f"trigger on {on.command}: expected k >= 1 and times >= 0, got k={on.k}, times={on.times}")
        self.on = on
        self.scope = scope
        self.kind = command_type(on.command)
        self.count = 0
        self._counts: dict[int, int] = {}
        fields = [(resolve(self.kind, name), value) for name, value in on.where.items()]
        self._where = [(field, field.convert(value)) for field, value in fields]
        # Nearly every condition asks for one field right in the command; to look at it first keeps idle triggers cheap.
        self._near = [(field.near, expected) for field, expected in self._where if field.near is not None]
        self._connection = scope.connection
        self._broker = scope.broker
        self._listener = listener
        self._party = names_party(scope)
        self._answers = _request(on, self.kind)

    def hits(self, line: Line, frame: Frame, body: Any) -> bool:
        """Count this frame if it matches, and return whether it is one of those to act on.

        The frame is of this trigger's command and direction, by which the caller has looked the trigger up. `body` is
        the frame's body, found once for all triggers.
        """
        if self._connection is not None and self._connection != line.number:
            return False
        if self._broker is not None and self._broker != line.broker:
            return False
        if self._listener is not None and self._listener != line.listener:
            return False
        for name, expected in self._near:
            if getattr(body, name) != expected:
                return False
        if self._where and not self._holds(frame):
            return False
        if self._answers is not None and line.parties.answers(frame) != self._answers:
            return False
        if self._party and ((party := line.parties.of(frame)) is None or not party.within(self.scope)):
            return False
        return self._due(line.number)

    @property
    def exhausted(self) -> bool:
        """No frame can make it act any more."""
        on = self.on
        return on.times > 0 and not on.per_connection and self.count >= on.k + on.times - 1

    def _holds(self, frame: Frame) -> bool:
        try:
            return all(expected in field.values(frame) for field, expected in self._where)
        except MetadataError:
            return False

    def _due(self, connection: int) -> bool:
        on = self.on
        if on.per_connection:
            count = self._counts[connection] = self._counts.get(connection, 0) + 1
        else:
            self.count += 1
            count = self.count
        return count >= on.k and (on.times == 0 or count < on.k + on.times)
