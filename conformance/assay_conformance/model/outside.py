"""What goes wrong outside the frames: bytes in a real network tool, processes, disks, the network itself.

These actions have the triggers, scopes and ends of every other fault; the frame link counts, and an injector acts. A
toxic or a shape triggered at 0 ms is in place before any client connects; its scope can be a broker and no less. What
an action needs of the bench is its means: a machine that lacks it makes the Case `unavailable`, never passed.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import msgspec

from assay_conformance.model.direction import Direction


class Means(StrEnum):
    """How the bench makes something go wrong."""

    FRAMES = "frames"
    TOXIPROXY = "toxiproxy"
    PROCESSES = "processes"
    DISKS = "disks"
    NAMESPACES = "namespaces"


# --- toxiproxy: bytes of connections ----------------------------------------------------------------------------------


class _Toxic(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, forbid_unknown_fields=True):
    """`direction` is the stream it lies on; `toxicity` the share of connections that get it."""

    direction: Direction = Direction.TO_CLIENT
    toxicity: float = 1.0


class Latency(_Toxic, frozen=True, omit_defaults=True, kw_only=True, tag="latency", tag_field="do"):
    """Bytes arrive `latency_ms` later, give or take `jitter_ms`."""

    latency_ms: int
    jitter_ms: int = 0


class Bandwidth(_Toxic, frozen=True, omit_defaults=True, kw_only=True, tag="bandwidth", tag_field="do"):
    """At most so many kilobytes a second."""

    rate_kb_s: int


class SlowClose(_Toxic, frozen=True, omit_defaults=True, kw_only=True, tag="slow-close", tag_field="do"):
    """The end of the stream arrives `delay_ms` later."""

    delay_ms: int


class Timeout(_Toxic, frozen=True, omit_defaults=True, kw_only=True, tag="timeout", tag_field="do"):
    """Nothing passes, and the connection ends after `timeout_ms`; 0 = only when the fault is healed."""

    timeout_ms: int


class ResetPeer(_Toxic, frozen=True, omit_defaults=True, kw_only=True, tag="reset-peer", tag_field="do"):
    """Connections that come are reset `timeout_ms` after their first byte; one that was open ends so by FIN."""

    timeout_ms: int = 0


class Slicer(_Toxic, frozen=True, omit_defaults=True, kw_only=True, tag="slicer", tag_field="do"):
    """Bytes arrive in pieces of `average_bytes`, give or take `variation_bytes`, `delay_us` apart."""

    average_bytes: int
    variation_bytes: int = 0
    delay_us: int = 0


class LimitData(_Toxic, frozen=True, omit_defaults=True, kw_only=True, tag="limit-data", tag_field="do"):
    """The connection ends after `limit_bytes`."""

    limit_bytes: int


class Disable(msgspec.Struct, frozen=True, tag="disable", tag_field="do", forbid_unknown_fields=True):
    """Every connection ends, and new ones are refused until healed."""


# --- processes and their disks ----------------------------------------------------------------------------------------


class Role(StrEnum):
    """What a process is there for."""

    BROKER = "broker"
    BOOKIE = "bookie"
    METADATA_STORE = "metadata-store"
    PROXY = "proxy"
    CLIENT = "client"


class Target(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, forbid_unknown_fields=True):
    """A process of the Case: the `index`-th of its role; or, for a broker, the one that owns topic `owner_of`."""

    role: Role = Role.BROKER
    index: int = 0
    owner_of: str | None = None


class _OnProcess(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, forbid_unknown_fields=True):
    target: Target = Target()


class Kill(_OnProcess, frozen=True, omit_defaults=True, kw_only=True, tag="kill", tag_field="do"):
    """SIGKILL; healed by a start on the same data and ports."""


class Pause(_OnProcess, frozen=True, omit_defaults=True, kw_only=True, tag="pause", tag_field="do"):
    """SIGSTOP; healed by SIGCONT."""


class Stop(_OnProcess, frozen=True, omit_defaults=True, kw_only=True, tag="stop", tag_field="do"):
    """SIGTERM, and the process may take its time; healed by a start on the same data and ports."""


class Disconnect(_OnProcess, frozen=True, omit_defaults=True, kw_only=True, tag="disconnect", tag_field="do"):
    """Detached from its network, without closing connections; healed by attaching it again. Containers have their own
    network."""


class FillDisk(_OnProcess, frozen=True, omit_defaults=True, kw_only=True, tag="fill-disk", tag_field="do"):
    """The disk of its data has `leave_bytes` left; healed by freeing it."""

    leave_bytes: int = 0


class ReadOnlyDisk(_OnProcess, frozen=True, omit_defaults=True, kw_only=True, tag="read-only-disk", tag_field="do"):
    """The disk of its data takes no writes."""


# --- namespaces: packets ----------------------------------------------------------------------------------------------


class Shape(
    msgspec.Struct,
    frozen=True,
    omit_defaults=True,
    kw_only=True,
    tag="shape",
    tag_field="do",
    forbid_unknown_fields=True,
):
    """Packets between client and brokers, in `direction` (both when None): later by `delay_ms` give or take
    `jitter_ms`; lost, sent twice, overtaken or damaged with these probabilities; at most `rate_kb_s` (0 = any)."""

    direction: Direction | None = None
    delay_ms: int = 0
    jitter_ms: int = 0
    loss: float = 0.0
    duplicate: float = 0.0
    reorder: float = 0.0
    corrupt: float = 0.0
    rate_kb_s: int = 0


class Partition(
    msgspec.Struct,
    frozen=True,
    omit_defaults=True,
    kw_only=True,
    tag="partition",
    tag_field="do",
    forbid_unknown_fields=True,
):
    """No packet passes in `direction` (both when None)."""

    direction: Direction | None = None


Toxic = Latency | Bandwidth | SlowClose | Timeout | ResetPeer | Slicer | LimitData | Disable
OnProcess = Kill | Pause | Stop | Disconnect
OnDisk = FillDisk | ReadOnlyDisk
OnNetwork = Shape | Partition
OutsideAction = Toxic | OnProcess | OnDisk | OnNetwork

MEANS: Final[dict[type, Means]] = {
    **dict.fromkeys((Latency, Bandwidth, SlowClose, Timeout, ResetPeer, Slicer, LimitData, Disable), Means.TOXIPROXY),
    **dict.fromkeys((Kill, Pause, Stop, Disconnect), Means.PROCESSES),
    **dict.fromkeys((FillDisk, ReadOnlyDisk), Means.DISKS),
    **dict.fromkeys((Shape, Partition), Means.NAMESPACES),
}
"""By action; what is not here is the frame link's."""


TAGS: Final = frozenset(str(action.__struct_config__.tag) for action in MEANS)  # type: ignore[attr-defined]
"""Their names, as receipts say them."""


def means_of(action: object) -> Means:
    return MEANS.get(type(action), Means.FRAMES)
