"""Values of a Case as text of a script: literals, and nothing that a Case says becomes code.

A replay file is data from anywhere, and whoever runs the script never saw it.
"""

from __future__ import annotations

import keyword
import math
from typing import Any, Final

from assay_conformance.model.errors import UsageError
from assay_reports.text import one_line

SECONDS: Final = {"pattern_auto_discovery_period"}
"""Options in seconds whose names do not say so."""
SHOWN: Final = 60

ENUMS: Final = {
    "compression_type": (
        "CompressionType",
        {"NONE": "NONE", "LZ4": "LZ4", "ZLIB": "ZLib", "ZSTD": "ZSTD", "SNAPPY": "SNAPPY"},
    ),
    "batching_type": ("BatchingType", {"default": "Default", "key_based": "KeyBased"}),
    "access_mode": (
        "ProducerAccessMode",
        {
            "shared": "Shared",
            "exclusive": "Exclusive",
            "wait_for_exclusive": "WaitForExclusive",
            "exclusive_with_fencing": "ExclusiveWithFencing",
        },
    ),
    "message_routing_mode": (
        "PartitionsRoutingMode",
        {"single": "UseSinglePartition", "round_robin": "RoundRobinDistribution"},
    ),
    "consumer_type": (
        "ConsumerType",
        {"exclusive": "Exclusive", "shared": "Shared", "failover": "Failover", "key_shared": "KeyShared"},
    ),
    "initial_position": ("InitialPosition", {"earliest": "Earliest", "latest": "Latest"}),
}
"""Options of the Python client that take a member of an enum of its, and which member each of the suite's words is."""


class Text:
    """Python that is written as it is; only this package makes one."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def __str__(self) -> str:
        return self._text


def literal(value: Any) -> str:
    """The value as Python writes it; UsageError for what is no plain data."""
    if isinstance(value, Text):
        return str(value)
    if isinstance(value, str):
        return repr(str(value))
    if value is None or isinstance(value, bool | int) or (isinstance(value, float) and math.isfinite(value)):
        return repr(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(literal, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{literal(key)}: {literal(one)}' for key, one in value.items())}}}"
    raise UsageError(f"expected plain data, came {_shown(value)}")


def called(function: str, *arguments: Any, **named: Any) -> str:
    """One call. UsageError for an argument whose name is none."""
    if wrong := [name for name in named if not name.isidentifier() or keyword.iskeyword(name)]:
        raise UsageError(f"expected arguments with names such as topic, came {_shown(wrong[0])}")
    told = [*map(literal, arguments), *(f"{name}={literal(value)}" for name, value in named.items())]
    return f"{function}({', '.join(told)})"


def option_value(key: str, option: str, value: Any) -> Any:
    """What the client's `option` is set to where the suite's `key` has this value; UsageError for an unknown word."""
    if option.endswith("_seconds") or option in SECONDS:
        return max(1, -(-int(value) // 1_000))
    if option == "authentication":
        return Text(called("tokens", *str(value).split(",")))
    if option not in ENUMS:
        return value
    name, members = ENUMS[option]
    member = members.get(value) if isinstance(value, str) else None
    if member is None:
        raise UsageError(f"{key!r}: expected one of {', '.join(members)}, came {_shown(value)}")
    return Text(f"pulsar.{name}.{member}")


def _shown(value: Any) -> str:
    return one_line(repr(value), SHOWN)
