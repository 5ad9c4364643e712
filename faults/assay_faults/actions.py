"""What faults do: one class an action, and the table that finds it.

An act is made once, before the Case runs, and refuses what cannot work: UsageError. `on` changes a passage and returns
the numbers of the frames it acted on, or None when there was nothing to act on: the frame was discarded already, or has
no such part. Acts that touch the connection rather than the frame may also be triggered by time or step.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final, Protocol

import crc32c

from assay_conformance.model.errors import UsageError
from assay_conformance.model.event import Fate
from assay_conformance.model.fault import (
    Action,
    AnswerError,
    Corrupt,
    Cut,
    CutHow,
    Delay,
    Direction,
    Drop,
    Duplicate,
    FieldValue,
    Hold,
    Inject,
    Part,
    Refuse,
    Reorder,
    Resegment,
    Rewrite,
    Truncate,
)
from assay_conformance.model.outside import MEANS
from assay_conformance.wire import (
    BODY_FIELDS,
    PAYLOAD_TYPES,
    BaseCommand,
    CommandType,
    Frame,
    MessageMetadata,
    MetadataError,
    encode,
    reencode,
)
from assay_faults.answers import ANSWERS, Answer
from assay_faults.channel import Segmenter, Severance, Wait
from assay_faults.fields import METADATA, Field, command_type, resolve
from assay_faults.frame_in_flight import FrameInFlight, Injected

_CHECKSUM = struct.Struct(">I")
NS_PER_MS: Final = 1_000_000

Numbers = tuple[int, ...]


class ActionContext(Protocol):
    """What an act may ask of its fault."""

    def next_number(self) -> int:
        """Return a number for a frame that the link itself writes."""
        ...

    def hold(self, wait: Wait) -> Wait:
        """Make `wait` end with the fault at the latest."""
        ...


class Act:
    """Base of the acts; `kind` and `direction` are the trigger's, None for a trigger without a frame."""

    needs_frame: ClassVar[bool] = True

    def __init__(self, action: Any, kind: CommandType | None, direction: Direction | None) -> None:
        if kind is None and self.needs_frame:
            raise UsageError('this action needs a frame to act on: expected a trigger with when = "frame"')
        self.action = action
        self.kind = kind
        self.direction = direction
        self.prepare()

    def prepare(self) -> None:
        """Resolve what the action names."""

    def on(self, passage: FrameInFlight, desk: ActionContext) -> Numbers | None:
        raise NotImplementedError


class _OnFrame(Act):
    """Acts on the frame itself, as long as it is there."""

    def on(self, passage: FrameInFlight, desk: ActionContext) -> Numbers | None:
        return (passage.number,) if passage.gone is None and self.change(passage, desk) else None

    def change(self, passage: FrameInFlight, desk: ActionContext) -> bool:
        """Change the frame; return whether there was something to act on."""
        raise NotImplementedError


class _Drop(_OnFrame):
    def change(self, passage: FrameInFlight, desk: ActionContext) -> bool:  # noqa: ARG002
        passage.gone = Fate.DROPPED
        return True


class _Hold(_OnFrame):
    action: Hold

    def change(self, passage: FrameInFlight, desk: ActionContext) -> bool:
        passage.waits.append(desk.hold(Wait(overtake=self.action.overtake)))
        return True


class _Delay(_OnFrame):
    action: Delay

    def change(self, passage: FrameInFlight, desk: ActionContext) -> bool:
        due_ns = passage.now_ns + self.action.delay_ms * NS_PER_MS
        passage.waits.append(desk.hold(Wait(overtake=self.action.overtake, due_ns=due_ns)))
        return True


class _Duplicate(_OnFrame):
    action: Duplicate

    def change(self, passage: FrameInFlight, desk: ActionContext) -> bool:  # noqa: ARG002
        passage.copies += self.action.copies
        return True


class _Reorder(_OnFrame):
    action: Reorder

    def prepare(self) -> None:
        if self.action.by < 1:
            raise UsageError(f"reorder: expected by >= 1, got {self.action.by}")

    def change(self, passage: FrameInFlight, desk: ActionContext) -> bool:
        passage.waits.append(desk.hold(Wait(overtake=True, frames=self.action.by)))
        return True


class _Corrupt(_OnFrame):
    action: Corrupt

    def change(self, passage: FrameInFlight, desk: ActionContext) -> bool:  # noqa: ARG002
        frame = passage.frame()
        where = None if frame is None else _part(frame, self.action.part)
        if frame is None or where is None or len(where) == 0:
            return False
        raw = bytearray(passage.raw)
        bit = self.action.bit % (8 * len(where))
        raw[where.start + bit // 8] ^= 1 << bit % 8
        if self.action.fix_checksum and frame.payload is not None and frame.payload.checksum is not None:
            covered = len(raw) - len(frame.payload.checksummed)
            _CHECKSUM.pack_into(raw, covered - _CHECKSUM.size, crc32c.crc32c(raw[covered:]))
        passage.raw = bytes(raw)
        if self.action.part is Part.LENGTH:
            passage.severance = _fin()
        return True


class _Truncate(_OnFrame):
    action: Truncate

    def prepare(self) -> None:
        if self.action.keep_bytes < 0:
            raise UsageError(f"truncate: expected keep_bytes >= 0, got {self.action.keep_bytes}")

    def change(self, passage: FrameInFlight, desk: ActionContext) -> bool:  # noqa: ARG002
        if self.action.keep_bytes < len(passage.raw):
            passage.raw = passage.raw[: self.action.keep_bytes]
            passage.gone = Fate.CUT
        # FIN, for a reset might take from the receiver what it has not read yet.
        passage.severance = _fin()
        return True


class _Rewrite(_OnFrame):
    action: Rewrite

    def prepare(self) -> None:
        assert self.kind is not None
        self._fields = [(field, field.convert(value)) for field, value in _resolved(self.kind, self.action.fields)]

    def change(self, passage: FrameInFlight, desk: ActionContext) -> bool:  # noqa: ARG002
        frame = passage.frame()
        if frame is None or frame.type != self.kind:
            return False
        try:
            passage.raw = _rewritten(frame, self._fields)
        except MetadataError:
            return False
        return True


class _AnswerError(Act):
    """Acts on a request that was dropped before too: its sender still waits for an answer."""

    action: AnswerError

    def prepare(self) -> None:
        answer = ANSWERS.get(self.kind) if self.kind is not None and self.direction is Direction.TO_BROKER else None
        if answer is None:
            answered = ", ".join(kind.name for kind in ANSWERS)
            raise UsageError(f"answer-error: expected one of the client's requests {answered}, got {self.kind!r}")
        self._answer: Answer = answer
        self._error = answer.error_number(self.action.error)

    def on(self, passage: FrameInFlight, desk: ActionContext) -> Numbers | None:
        if passage.sent is None:
            return None
        if not self._answer.is_owed_to(passage.sent):
            passage.gone = passage.gone or Fate.DROPPED
            return (passage.number,)
        number = desk.next_number()
        raw = self._answer.to(passage.sent, self._error, self.action.message)
        passage.injected.append(Injected(Direction.TO_CLIENT, False, number, raw))
        passage.gone = passage.gone or Fate.DROPPED
        return (passage.number, number)


class _Inject(Act):
    needs_frame = False
    action: Inject

    def prepare(self) -> None:
        if self.action.raw:
            return
        self._command = command_type(self.action.command)
        self._fixed: list[tuple[Field, Any]] = []
        self._copied: list[tuple[Field, Field]] = []
        for field, value in _resolved(self._command, self.action.fields):
            if isinstance(value, str) and value.startswith("$"):
                self._copied.append((field, self._source(field, value[1:])))
            else:
                self._fixed.append((field, field.convert(value)))
        self._check_complete()

    def on(self, passage: FrameInFlight, desk: ActionContext) -> Numbers | None:
        raw = self.action.raw or self._built(passage.sent)
        if raw is None:
            return None
        number = desk.next_number()
        passage.injected.append(Injected(self.action.direction, self.action.before, number, raw))
        return (number,) if passage.sent is None else (passage.number, number)

    def _source(self, field: Field, name: str) -> Field:
        if self.kind is None:
            raise UsageError(f"inject: ${name} copies from the triggering frame, and this trigger has none")
        source = resolve(self.kind, name)
        if source.family != field.family:
            raise UsageError(f"inject: ${name} is {source.family}, {field.name} of {self._command.name} {field.family}")
        return source

    def _check_complete(self) -> None:
        """Refuse a frame that would lack a required field, whatever the copied ones will hold."""
        values = [(field, field.zero()) for field, _ in self._copied if field.zero() is not None]
        messages = {field.name for field, _ in self._copied if field.zero() is None}
        command, metadata = _filled(self._command, self._fixed + values)
        missing = _missing(getattr(command, BODY_FIELDS[self._command]))
        missing += [] if metadata is None else [METADATA + name for name in _missing(metadata)]
        if lacking := [name for name in missing if name not in messages]:
            raise UsageError(f"inject: {self._command.name} needs {', '.join(lacking)}")

    def _built(self, sent: Frame | None) -> bytes | None:
        """Return the frame to inject, or None when the triggering frame lacks a value that is to be copied."""
        fields = list(self._fixed)
        for field, source in self._copied:
            assert sent is not None
            try:
                values = source.values(sent)
            except MetadataError:
                return None
            if not values:
                return None
            fields.append((field, field.fit(values[0])))
        command, metadata = _filled(self._command, fields)
        return encode(command, metadata=metadata)


class _Resegment(Act):
    needs_frame = False
    action: Resegment

    def prepare(self) -> None:
        if self.action.piece_bytes < 1:
            raise UsageError(f"resegment: expected piece_bytes >= 1, got {self.action.piece_bytes}")

    def on(self, passage: FrameInFlight, desk: ActionContext) -> Numbers | None:
        gap_ns = self.action.gap_ms * NS_PER_MS
        for direction in Direction if passage.direction is None else (passage.direction,):
            passage.segmenters[direction] = Segmenter(desk.hold(Wait()), self.action.piece_bytes, gap_ns)
        return () if passage.sent is None else (passage.number,)


class _Cut(Act):
    needs_frame = False
    action: Cut

    def on(self, passage: FrameInFlight, desk: ActionContext) -> Numbers | None:
        cut = self.action
        blackhole = cut.how is CutHow.BLACKHOLE
        passage.severance = Severance(cut, desk.hold(Wait()) if blackhole else Wait())
        if cut.before and (not blackhole or cut.direction in (None, passage.direction)):
            passage.gone = passage.gone or Fate.CUT
            passage.raw = b""
        return () if passage.sent is None else (passage.number,)


class _Refuse(Act):
    """Begins with its trigger; what it acts on are the connections that come later (live.py)."""

    needs_frame = False

    def on(self, passage: FrameInFlight, desk: ActionContext) -> Numbers | None:  # noqa: ARG002
        return None


class Outside(Act):
    """Begins and ends here, and an injector carries it out (injector.py): no passage is changed."""

    needs_frame = False

    def on(self, passage: FrameInFlight, desk: ActionContext) -> Numbers | None:
        del passage
        desk.hold(Wait())
        return None


ACTS: Final[Mapping[type[Action], Callable[[Any, CommandType | None, Direction | None], Act]]] = {
    Drop: _Drop,
    Hold: _Hold,
    Delay: _Delay,
    Duplicate: _Duplicate,
    Reorder: _Reorder,
    Corrupt: _Corrupt,
    Truncate: _Truncate,
    Resegment: _Resegment,
    Rewrite: _Rewrite,
    Inject: _Inject,
    Cut: _Cut,
    Refuse: _Refuse,
    AnswerError: _AnswerError,
    **dict.fromkeys(MEANS, Outside),
}


def _resolved(kind: CommandType, fields: Mapping[str, FieldValue]) -> list[tuple[Field, FieldValue]]:
    return [(resolve(kind, name), value) for name, value in fields.items()]


def _filled(kind: CommandType, fields: list[tuple[Field, Any]]) -> tuple[BaseCommand, MessageMetadata | None]:
    """Return a new command with these fields, and metadata if the command takes a payload."""
    command = BaseCommand(type=kind)
    body = getattr(command, BODY_FIELDS[kind])
    body.SetInParent()
    metadata = MessageMetadata() if kind in PAYLOAD_TYPES else None
    for field, value in fields:
        field.assign(metadata if field.in_metadata else body, value)
    return command, metadata


def _missing(message: Any) -> list[str]:
    """Return the dotted names of the required fields that `message` lacks."""
    return list(message.FindInitializationErrors())


def _rewritten(frame: Frame, fields: list[tuple[Field, Any]]) -> bytes:
    """Return the frame encoded again with these fields set.

    Raise MetadataError when one of the fields is in the metadata and the metadata cannot be read.
    """
    command = BaseCommand()
    command.CopyFrom(frame.command)
    metadata: MessageMetadata | None = None
    if frame.payload is not None and any(field.in_metadata for field, _ in fields):
        metadata = MessageMetadata()
        metadata.CopyFrom(frame.payload.metadata)
    for field, value in fields:
        field.assign(metadata if field.in_metadata else getattr(command, BODY_FIELDS[frame.type]), value)
    return reencode(frame, command, metadata)


def _fin() -> Severance:
    return Severance(Cut(how=CutHow.FIN), Wait())


def _part(frame: Frame, part: Part) -> range | None:
    """Return the positions of a part in the raw frame, or None when this frame lacks the part."""
    end = len(frame.raw)
    if part is Part.LENGTH:
        return range(4)
    if part is Part.COMMAND:
        return range(8, 8 + int.from_bytes(frame.raw[4:8], "big"))
    payload = frame.payload
    if payload is None:
        return None
    covered = end - len(payload.checksummed)
    if part is Part.CHECKSUM:
        return None if payload.checksum is None else range(covered - _CHECKSUM.size, covered)
    try:
        data = end - len(payload.data)
    except MetadataError:
        return None
    return range(data, end) if part is Part.PAYLOAD else range(covered + 4, data)
