"""What goes wrong in a Case, as data: trigger (when) + scope (where) + action (what) + heal.

Rules that hold for every action: `k` counts the matches of this trigger inside its scope, over reconnects unless
`per_connection`; actions keep the order of other frames unless they are `reorder`; a held frame holds the later ones in
its direction unless `overtake`; two faults on one frame apply in plan order.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

from assay_conformance.model.direction import Direction as Direction
from assay_conformance.model.outside import OutsideAction

FieldValue = int | str | bool


class OnFrame(
    msgspec.Struct,
    frozen=True,
    omit_defaults=True,
    kw_only=True,
    tag="frame",
    tag_field="when",
    forbid_unknown_fields=True,
):
    """The k-th frame of a command in a direction; then `times - 1` further matches (0 = every one from then on).

    `answers` narrows it to answers to requests of that command: the SUCCESS of a SEEK, whatever comes before it.
    `where` compares fields by dotted name: `sequence_id`, `message_id.entryId`, and `metadata.chunk_id` and the like
    for the MessageMetadata of payload frames.
    """

    command: str
    direction: Direction
    k: int = 1
    times: int = 1
    answers: str = ""
    where: dict[str, FieldValue] = {}
    per_connection: bool = False


class AtTime(msgspec.Struct, frozen=True, tag="time", tag_field="when", forbid_unknown_fields=True):
    """`at_ms` milliseconds after the Case began."""

    at_ms: int


class AfterStep(msgspec.Struct, frozen=True, tag="step", tag_field="when", forbid_unknown_fields=True):
    """When step number `step` (counted from 0) has been issued, or, for a wait, has ended."""

    step: int


Trigger = OnFrame | AtTime | AfterStep


class Scope(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, forbid_unknown_fields=True):
    """Which traffic a fault may touch; what is left out does not restrict.

    `connection` counts the Case's connections from 0 in the order they were opened; `topic` is a topic of the topology
    (its partitions included) or one partition; `producer_name`, `subscription` select by what PRODUCER / SUBSCRIBE
    announced. `session` selects producers and consumers by how many the broker had admitted before, to the same topic
    or partition, or subscription of it: 0 is the first one until it registers again, whatever connection carries it.
    """

    connection: int | None = None
    broker: int | None = None
    topic: str | None = None
    producer_name: str | None = None
    subscription: str | None = None
    session: int | None = None


class Until(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, forbid_unknown_fields=True):
    """When a fault ends: `after_ms` from its firing, after a step, or at a frame, counted after the one that triggered
    it; the earliest of those given.

    Nothing given: at the epilogue of the Case, which heals everything.
    """

    after_ms: int | None = None
    step: int | None = None
    frame: OnFrame | None = None


class Drop(msgspec.Struct, frozen=True, tag="drop", tag_field="do", forbid_unknown_fields=True):
    """The frame never arrives."""


class Hold(msgspec.Struct, frozen=True, omit_defaults=True, tag="hold", tag_field="do", forbid_unknown_fields=True):
    """The frame waits for the fault's `until`, and so do later ones unless `overtake`."""

    overtake: bool = False


class Delay(msgspec.Struct, frozen=True, omit_defaults=True, tag="delay", tag_field="do", forbid_unknown_fields=True):
    """The frame leaves `delay_ms` later; later frames of its direction do not overtake it unless `overtake`."""

    delay_ms: int
    overtake: bool = False


class Duplicate(
    msgspec.Struct, frozen=True, omit_defaults=True, tag="duplicate", tag_field="do", forbid_unknown_fields=True
):
    """The frame arrives `copies` more times, right after itself."""

    copies: int = 1


class Reorder(
    msgspec.Struct, frozen=True, omit_defaults=True, tag="reorder", tag_field="do", forbid_unknown_fields=True
):
    """The frame changes places with the `by` frames that follow it in its direction."""

    by: int = 1


class Part(StrEnum):
    """Where in a frame a bit is flipped."""

    PAYLOAD = "payload"
    METADATA = "metadata"
    CHECKSUM = "checksum"
    COMMAND = "command"
    LENGTH = "length"


class Corrupt(
    msgspec.Struct, frozen=True, omit_defaults=True, tag="corrupt", tag_field="do", forbid_unknown_fields=True
):
    """Bit `bit` of `part` (wrapped to its length) is flipped; `fix_checksum` recomputes the CRC over the damage.

    A corrupted length ends in a cut: nothing after it could be read.
    """

    part: Part = Part.PAYLOAD
    bit: int = 0
    fix_checksum: bool = False


class Truncate(msgspec.Struct, frozen=True, tag="truncate", tag_field="do", forbid_unknown_fields=True):
    """Only the first `keep_bytes` of the frame leave; then the connection is cut."""

    keep_bytes: int


class Resegment(
    msgspec.Struct, frozen=True, omit_defaults=True, tag="resegment", tag_field="do", forbid_unknown_fields=True
):
    """From this frame on, bytes leave in pieces of `piece_bytes`, `gap_ms` apart, until healed."""

    piece_bytes: int
    gap_ms: int = 0


class Rewrite(msgspec.Struct, frozen=True, tag="rewrite", tag_field="do", forbid_unknown_fields=True):
    """Fields of the command (or `metadata.*` of the payload) get these values before the frame leaves."""

    fields: dict[str, FieldValue]


class Inject(
    msgspec.Struct,
    frozen=True,
    omit_defaults=True,
    kw_only=True,
    tag="inject",
    tag_field="do",
    forbid_unknown_fields=True,
):
    """Another frame is written beside the triggering one: a command by name and fields, or raw bytes.

    A field value `"$name"` copies field `name` of the triggering frame.
    """

    command: str = ""
    fields: dict[str, FieldValue] = {}
    raw: bytes = b""
    direction: Direction = Direction.TO_CLIENT
    before: bool = False


class CutHow(StrEnum):
    FIN = "fin"
    RST = "rst"
    BLACKHOLE = "blackhole"


class Cut(
    msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, tag="cut", tag_field="do", forbid_unknown_fields=True
):
    """The connection ends at this frame, which still passes unless `before`.

    FIN and RST close it towards both sides; RST waits until earlier bytes have left the send queue unless `abrupt`.
    A broker behind the frame proxy sees FIN: a reset would take what passed from it.
    BLACKHOLE keeps it open and swallows everything in `direction` (both when None) until healed; healing a black hole
    resets the connection, since its bytes are lost.
    """

    how: CutHow = CutHow.RST
    before: bool = False
    abrupt: bool = False
    direction: Direction | None = None


class Refuse(msgspec.Struct, frozen=True, omit_defaults=True, tag="refuse", tag_field="do", forbid_unknown_fields=True):
    """New connections are closed as soon as they come: `connections` of them, or until healed when 0."""

    connections: int = 0


class AnswerError(
    msgspec.Struct, frozen=True, omit_defaults=True, tag="answer-error", tag_field="do", forbid_unknown_fields=True
):
    """The request does not arrive; its sender gets a broker's error (ERROR, SEND_ERROR, a failed lookup)."""

    error: str
    message: str = "injected"


LinkAction = (
    Drop
    | Hold
    | Delay
    | Duplicate
    | Reorder
    | Corrupt
    | Truncate
    | Resegment
    | Rewrite
    | Inject
    | Cut
    | Refuse
    | AnswerError
)
Action = LinkAction | OutsideAction


class Fault(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, forbid_unknown_fields=True):
    """One thing that goes wrong. An `optional` one (generated Cases) may stay unfired; others make the Case invalid."""

    trigger: Trigger
    action: Action
    scope: Scope = Scope()
    until: Until = Until()
    optional: bool = False
