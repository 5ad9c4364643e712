"""Values of a Case as text of a script: literals, and nothing that a Case says becomes code.

A replay file is data from anywhere, and whoever runs the script never saw it.
"""

from __future__ import annotations

import keyword
import math
from collections.abc import Mapping
from typing import Any, Final

from assay_conformance.model.errors import UsageError
from assay_reports.text import one_line

SECONDS: Final = {"pattern_auto_discovery_period"}
"""Options in seconds whose names do not say so."""
SHOWN: Final = 60
WIDTH: Final = 108
"""Of a line, but for what it is indented by in a function."""
INDENT: Final = 4

NEVER_SET: Final = {"durable", "max_redeliver_count", "dead_letter_subscription"}
"""What is written differently: a reader is none, and the two others make one policy."""
NO_FORM: Final = {
    "credentials": "an application's own supplier of credentials",
    "router": "an application's own router",
    "schema": "a schema",
    "tls_trust_certs": "TLS",
}
READERS: Final = {
    "start_inclusive": "start_message_id_inclusive",
    "consumer_name": "reader_name",
    "receiver_queue_size": "receiver_queue_size",
}
STARTS: Final = ("earliest", "latest")

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


def literal(value: Any, indent: int = 0) -> str:
    """Return the value as Python writes it, over lines where it is long; UsageError for what is no plain data."""
    short = flat(value)
    if indent + len(short) <= WIDTH or not value or not isinstance(value, list | tuple | dict):
        return short
    if isinstance(value, dict):
        return _over_lines("{", [(f"{flat(key)}: ", one) for key, one in value.items()], "}", indent)
    return _over_lines("[", [("", one) for one in value], "]", indent)


def called(function: str, *arguments: Any, **named: Any) -> str:
    """Return the source of one call, over several lines where it is long.

    Raises UsageError for a keyword argument whose name is no identifier.
    """
    if wrong := [name for name in named if not name.isidentifier() or keyword.iskeyword(name)]:
        raise UsageError(f"expected arguments with names such as topic, came {_shown(wrong[0])}")
    parts = [*(("", one) for one in arguments), *((f"{name}=", one) for name, one in named.items())]
    short = f"{function}({', '.join(label + flat(one) for label, one in parts)})"
    return short if len(short) <= WIDTH else _over_lines(f"{function}(", parts, ")", 0)


def _over_lines(begin: str, parts: list[tuple[str, Any]], end: str, indent: int) -> str:
    """Short values one after the other, as far as there is room; long ones each on a line."""
    pad = " " * (indent + INDENT)
    if any(isinstance(one, list | tuple | dict) for _, one in parts):
        lines = [label + literal(one, indent + INDENT) for label, one in parts]
    else:
        lines = _filled([label + flat(one) for label, one in parts], WIDTH - len(pad))
    return "\n".join([begin, *(f"{pad}{line}," for line in lines), " " * indent + end])


def _filled(rows: list[str], room: int) -> list[str]:
    lines = rows[:1]
    for row in rows[1:]:
        if len(lines[-1]) + len(row) + 3 > room:
            lines.append(row)
        else:
            lines[-1] += f", {row}"
    return lines


def flat(value: Any) -> str:
    """Return a value as `literal` does, on one line. Raises UsageError for a value that is no plain data."""
    if isinstance(value, Text):
        return str(value)
    if isinstance(value, str):
        return _quoted(str(value))
    if value is None or isinstance(value, bool | int) or (isinstance(value, float) and math.isfinite(value)):
        return repr(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(flat, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{flat(key)}: {flat(one)}' for key, one in value.items())}}}"
    raise UsageError(f"expected plain data, came {_shown(value)}")


def _quoted(text: str) -> str:
    """In double quotes, where these need no escape."""
    parts = repr(text)
    return f'"{parts[1:-1]}"' if parts[0] == "'" and '"' not in parts else parts


def option_value(key: str, option: str, value: Any) -> Any:
    """Return what the client's `option` is set to where the suite's `key` has this value; UsageError for an unknown
    word."""
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


def chosen_options(config: Mapping[str, Any], known: Mapping[str, str]) -> dict[str, Any]:
    """Return the client's keyword arguments for what a Case configures; UsageError for what no script can set."""
    if unknown := [words for key, words in NO_FORM.items() if key in config]:
        raise UsageError(f"{unknown[0]} has no stand-alone form; expected a Case that reduces without it")
    parts = {
        known[key]: option_value(key, known[key], value)
        for key, value in config.items()
        if key in known and key not in NEVER_SET
    }
    if count := config.get("max_redeliver_count"):
        named = {"initial_subscription_name": config.get("dead_letter_subscription")}
        policy = called("pulsar.ConsumerDeadLetterPolicy", count, **{k: v for k, v in named.items() if v})
        parts[known["max_redeliver_count"]] = Text(policy)
    return parts


def reader_options(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the client's keyword arguments for a reader, which has options of its own.

    Raises UsageError for an option that a reader does not have.
    """
    start = config.get("initial_position", "latest")
    if start not in STARTS:
        raise UsageError(f"'initial_position': expected one of {', '.join(STARTS)}, came {_shown(start)}")
    rest = {key: value for key, value in config.items() if key not in {"initial_position", "durable"}}
    if wrong := [key for key in rest if key not in READERS]:
        raise UsageError(f"{wrong[0]} cannot be set on a reader; expected one of {', '.join(READERS)}")
    return {"start": Text(f"pulsar.MessageId.{start}"), **{READERS[key]: value for key, value in rest.items()}}


def _shown(value: Any) -> str:
    return one_line(repr(value), SHOWN)
