"""A failure as two files for whoever mends the client: a script that needs nothing but the client, and a fault plan.

The script makes the calls of a replay file's Case, looks for the symptom of its findings, and says what was expected
and what it saw. The plan is what `assay broker --faults` takes. What has no meaning outside of the suite is refused.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import msgspec

from assay_conformance.model.case import SUITE_DEFAULTS, Case
from assay_conformance.model.errors import UsageError
from assay_conformance.model.needs import means
from assay_conformance.model.outside import Means
from assay_reports.export.steps import Calls, planned, stand_alone
from assay_reports.export.values import literal
from assay_reports.replay import Breach, Replay
from assay_reports.text import one_line

CLIENT = "pulsar-client"
TEXTS = ("calls.py", "consuming.py", "watching.py", "ending.py")
"""What every script has, in this order."""
REDUCED = "reduced from "
"""How the titles of generated Cases begin that say nothing outside of the suite."""

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
        raise UsageError(
            f"a fault by {', '.join(sorted(outside))} has no stand-alone form, for the broker of a script has frames "
            "alone to act on; expected faults of frames, or the replay file itself on the issue: assay replay FILE"
        )
    known = symptom_sources()
    shown = [breach for breach in replay.breaches if function_name(breach) in known]
    if not shown:
        codes = ", ".join(f"{breach.requirement}: {breach.code}" for breach in replay.breaches)
        raise UsageError(
            f"no script can tell this finding without the suite: {codes}; expected a symptom of it in "
            "assay_reports/export/symptoms, or the replay file itself on the issue: assay replay FILE"
        )
    return Exported(_script(replay, shown, options, name, known), _plan(replay))


def function_name(breach: Breach) -> str:
    return f"{breach.requirement.replace('.', '_')}__{breach.code}".replace("-", "_")


def _plan(replay: Replay) -> str:
    case = replay.case
    faults = [stand_alone(case.faults[index]) for index in planned(case)]
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
    if not replay.case.steps:
        raise UsageError("the Case has no steps; expected one that does something")
    body = [line for number, step in enumerate(replay.case.steps) for line in calls.lines(number, step)]
    # Behind one that closes everything the others could not judge.
    functions = sorted((function_name(breach) for breach in shown), key=lambda name: "finish()" in known[name])
    expected = " ".join(dict.fromkeys(one_line(breach.clause) for breach in shown))
    symptoms = [known[function] for function in _needed(functions, known)]
    parts = [
        _head(replay, shown, name),
        _imports("\n".join(symptoms)),
        *(_body(_text(name)) for name in TEXTS),
        *symptoms,
        "def schedule() -> None:\n" + "\n".join(f"    {line}" for line in body),
        f'if __name__ == "__main__":\n    main(\n        {expected!r},\n        schedule,\n'
        f"        [{', '.join(functions)}],\n{_tried(replay.case, name)}    )\n",
    ]
    return "\n\n\n".join(part.strip("\n") for part in parts) + "\n"


def _tried(case: Case, name: str) -> str:
    """What tells a script that something was tried: the plan of its broker, and which faults have to act."""
    told = {
        "faults": tuple(index for index, fault in enumerate(case.faults) if not fault.optional),
        "planned": len(planned(case)),
        "topology": msgspec.to_builtins(case.topology),
        "name": name,
    }
    return "".join(f"        {key}={literal(value)},\n" for key, value in told.items())


def _head(replay: Replay, shown: list[Breach], name: str) -> str:
    lines = [
        f"{'Found by chance' if replay.case.title.startswith(REDUCED) else one_line(replay.case.title)}.",
        "",
        *(f"Seen with {replay.client} {one_line(replay.version)}: {_sentence(breach)}." for breach in shown),
        "",
        "In two terminals:",
        "",
        f"    assay broker --faults {name}.faults.json",
        f"    python {name}.py pulsar://127.0.0.1:6650 http://127.0.0.1:8080",
        "",
        "Exit code 0: as expected; 1: the deviation shows; 2: nothing can be told.",
        "Give the broker a fresh start for each run.",
    ]
    text = "\n".join(lines).replace("\\", "\\\\").replace('"""', "'''")
    return f'#!/usr/bin/env python3\n"""{text}\n"""'


def _sentence(breach: Breach) -> str:
    """A process that was lost is the suite's own: what it is called, and where its log is, means nothing elsewhere."""
    signal = re.search(r"was killed by signal (\d+)", breach.sentence)
    if signal is None:
        return one_line(breach.sentence)
    return f"the process that runs the client was killed by signal {signal[1][:3]}"


@cache
def symptom_sources() -> Mapping[str, str]:
    """Function name -> its source."""
    found = (
        (text, node) for text in _symptom_texts() for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)
    )
    return {node.name: ast.get_source_segment(text, node) or "" for text, node in found}


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


def _symptom_texts() -> list[str]:
    return [one.read_text("utf-8") for one in _FOLDER.joinpath("symptoms").iterdir() if one.name.endswith(".py")]


_FOLDER = files(__package__)


def _text(name: str) -> str:
    return _FOLDER.joinpath(name).read_text("utf-8")


def _imports(known: str) -> str:
    """What the texts import, and of what symptoms import that which `known` names; nothing of the suite."""
    fixed = {_text(name) for name in TEXTS}
    named = {node.id for node in ast.walk(ast.parse(known)) if isinstance(node, ast.Name)}
    told = {"from __future__ import annotations"}
    for text in (*fixed, *_symptom_texts()):
        for node in ast.parse(text).body:
            own = isinstance(node, ast.ImportFrom) and (node.module or "").startswith("assay_")
            if isinstance(node, ast.Import | ast.ImportFrom) and not own:
                wanted = text in fixed or {alias.name for alias in node.names} & named
                told |= {ast.unparse(node)} if wanted else set()
    told.discard(_CLIENT)
    return "\n".join(sorted(told, key=lambda line: ("__future__" not in line, line))) + f"\n\n{_GUARDED}"


_CLIENT = "import pulsar"
_GUARDED = f"""try:
    {_CLIENT}
except ImportError as error:
    print(f"{CLIENT} is not there to be tried, and nothing can be told: {{error}}; python -m pip install {CLIENT}")
    sys.exit(2)"""


def _body(text: str) -> str:
    """Without docstring and imports."""
    first = next(node for node in ast.parse(text).body[1:] if not isinstance(node, ast.Import | ast.ImportFrom))
    return "\n".join(text.splitlines()[first.lineno - 1 :])
