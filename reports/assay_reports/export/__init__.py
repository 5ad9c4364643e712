"""A failure as two files for whoever mends the client: a script that needs nothing but the client, and a fault plan.

The script makes the calls of a replay file's Case, looks for the symptom of its findings, and says what was expected
and what it saw. The plan is what `assay broker --faults` takes. What has no meaning outside of the suite is refused.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files

import msgspec

from assay_conformance.model.case import SUITE_DEFAULTS
from assay_conformance.model.errors import UsageError
from assay_conformance.model.fault import AfterStep
from assay_conformance.model.needs import means
from assay_conformance.model.outside import Means
from assay_reports.export.steps import Calls
from assay_reports.replay import Breach, Replay

CLIENT = "pulsar-client"

Options = Mapping[str, Mapping[str, str]]
"""Role -> the suite's configuration key -> the client's option, as agent.toml has them."""


@dataclass(frozen=True, slots=True)
class Exported:
    script: str
    plan: str


def export(replay: Replay, options: Options, name: str) -> Exported:
    """The two files, to be called `name`.py and `name`.faults.json. UsageError says what cannot be exported."""
    if replay.client != CLIENT:
        raise UsageError(f"{replay.client} is exported to no language yet; expected a replay of {CLIENT}")
    if outside := means(replay.case) - {Means.FRAMES}:
        raise UsageError(f"a fault by {', '.join(sorted(outside))} has no stand-alone form; expected faults of frames")
    known = _symptoms()
    shown = [breach for breach in replay.breaches if function_name(breach) in known]
    if not shown:
        codes = ", ".join(f"{breach.requirement}: {breach.code}" for breach in replay.breaches)
        raise UsageError(f"no script can tell this finding without the suite: {codes}")
    for number, fault in enumerate(replay.case.faults):
        if fault.until.step is not None:
            raise UsageError(f"fault {number} ends with a step, which has no stand-alone form")
    return Exported(_script(replay, shown, options, name, known), _plan(replay))


def function_name(breach: Breach) -> str:
    return f"{breach.requirement.replace('.', '_')}__{breach.code}".replace("-", "_")


def _plan(replay: Replay) -> str:
    case = replay.case
    faults = [fault for fault in case.faults if not isinstance(fault.trigger, AfterStep)]
    written = {"topology": msgspec.to_builtins(case.topology), "faults": msgspec.to_builtins(faults)}
    # What the values leave out is their default; a topic is named even so, or no step could speak of it.
    written["topology"]["topics"] = msgspec.to_builtins(case.topology.topics)
    return json.dumps(written, indent=1) + "\n"


def _script(replay: Replay, shown: list[Breach], options: Options, name: str, known: Mapping[str, str]) -> str:
    asked = {
        role: {**SUITE_DEFAULTS[role], **getattr(replay.case.config, role)}
        for role in ("client", "producer", "consumer")
    }
    calls = Calls(replay.case, asked, options)
    body = [line for number, step in enumerate(replay.case.steps) for line in calls.lines(number, step)]
    functions = [function_name(breach) for breach in shown]
    expected = " ".join(dict.fromkeys(breach.clause for breach in shown))
    parts = [
        _head(replay, shown, name),
        _without_docstring(_text("standalone.py")),
        *(known[function] for function in _needed(functions, known)),
        "def schedule() -> None:\n" + "\n".join(f"    {line}" for line in body),
        f'if __name__ == "__main__":\n    main(\n        {expected!r},\n        schedule,\n'
        f"        [{', '.join(functions)}],\n    )\n",
    ]
    return "\n\n\n".join(part.strip("\n") for part in parts) + "\n"


def _head(replay: Replay, shown: list[Breach], name: str) -> str:
    lines = [
        f"{replay.case.title}.",
        "",
        *(f"Seen with {replay.client} {replay.version}: {breach.sentence}." for breach in shown),
        "",
        "In two terminals:",
        "",
        f"    assay broker --faults {name}.faults.json",
        f"    python {name}.py pulsar://127.0.0.1:6650 http://127.0.0.1:8080",
        "",
        "Exit code 0: as expected; 1: the deviation shows. Give the broker a fresh start for each run.",
    ]
    text = "\n".join(lines).replace("\\", "\\\\").replace('"""', "'''")
    return f'#!/usr/bin/env python3\n"""{text}\n"""'


def _symptoms() -> dict[str, str]:
    """Function name -> its source."""
    text = _text("symptoms.py")
    found = (node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef))
    return {node.name: ast.get_source_segment(text, node) or "" for node in found}


def _needed(functions: list[str], known: Mapping[str, str]) -> Iterator[str]:
    """These and what they call, each once, callees first."""
    done: set[str] = set()

    def visit(function: str) -> Iterator[str]:
        if function in done:
            return
        done.add(function)
        for node in ast.walk(ast.parse(known[function])):
            if isinstance(node, ast.Name) and node.id in known:
                yield from visit(node.id)
        yield function

    for function in functions:
        yield from visit(function)


def _text(name: str) -> str:
    return files(__package__).joinpath(name).read_text("utf-8")


def _without_docstring(text: str) -> str:
    first = ast.parse(text).body[0]
    return "\n".join(text.splitlines()[first.end_lineno :])
