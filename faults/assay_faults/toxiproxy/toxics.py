"""What a toxic is called and configured by, in toxiproxy's own words (its README, "Toxics")."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from assay_conformance.model.direction import Direction
from assay_conformance.model.outside import Bandwidth, Latency, LimitData, ResetPeer, Slicer, SlowClose, Timeout

OnStream = Latency | Bandwidth | SlowClose | Timeout | ResetPeer | Slicer | LimitData


@dataclass(frozen=True, slots=True)
class Toxic:
    """A toxic as the server knows it. `name` is unique within its proxy."""

    name: str
    type: str
    stream: str
    toxicity: float
    attributes: Mapping[str, int]


_STREAMS: Final = {Direction.TO_BROKER: "upstream", Direction.TO_CLIENT: "downstream"}

# Action -> toxiproxy's type, and its attribute -> our field. The server takes any attribute and ignores those it does
# not know, so that none is ever written down but here.
_TYPES: Final[Mapping[type[OnStream], tuple[str, Mapping[str, str]]]] = {
    Latency: ("latency", {"latency": "latency_ms", "jitter": "jitter_ms"}),
    Bandwidth: ("bandwidth", {"rate": "rate_kb_s"}),
    SlowClose: ("slow_close", {"delay": "delay_ms"}),
    Timeout: ("timeout", {"timeout": "timeout_ms"}),
    ResetPeer: ("reset_peer", {"timeout": "timeout_ms"}),
    Slicer: ("slicer", {"average_size": "average_bytes", "size_variation": "variation_bytes", "delay": "delay_us"}),
    LimitData: ("limit_data", {"bytes": "limit_bytes"}),
}


def toxic(name: str, action: OnStream) -> Toxic:
    """Return the toxic that does what the action says."""
    kind, attributes = _TYPES[type(action)]
    return Toxic(
        name=name,
        type=kind,
        stream=_STREAMS[action.direction],
        toxicity=action.toxicity,
        attributes={theirs: getattr(action, ours) for theirs, ours in attributes.items()},
    )
