"""A script: what is wrong and how to run it, the schedule, what is looked for, and then the pieces that these use."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from textwrap import indent, wrap
from typing import Final

from assay_conformance.model.case import SUITE_DEFAULTS, words_of
from assay_conformance.model.errors import UsageError
from assay_reports.export.names import Handles, without_the_suite
from assay_reports.export.pieces import RUNTIME, Piece, imports, needed, pieces, used
from assay_reports.export.steps import Calls, plan_of
from assay_reports.export.values import Text, called, flat
from assay_reports.replay import Breach, Replay
from assay_reports.text import one_line

CLIENT: Final = "pulsar-client"
REDUCED: Final = "reduced from "
"""How the titles of generated Cases begin that say nothing outside of the suite."""
WIDTH: Final = 100

HELPERS: Final = "# --- What the above is made of ---\n\n"

Options = Mapping[str, Mapping[str, str]]
"""Role -> the suite's configuration key -> the client's option, as agent.toml has them."""


@dataclass(frozen=True, slots=True)
class Script:
    """Its text, and the pieces of the runtime that it has, by their names."""

    text: str
    pieces: frozenset[str]


def script(replay: Replay, shown: list[Breach], options: Options, name: str) -> Script:
    """Return the script of a replay file, which is to be saved as `name`.py.

    Raises UsageError for what no script can do.
    """
    if not replay.case.steps:
        raise UsageError("the Case has no steps; expected one that does something")
    asked = {role: {**defaults, **getattr(replay.case.config, role)} for role, defaults in SUITE_DEFAULTS.items()}
    calls = Calls(replay.case, asked, options)
    schedule = "def schedule() -> None:\n" + "\n".join(indent(line, "    ") for line in calls.lines())
    end = _end(replay, shown, calls)
    found = needed(used(f"{schedule}\n{end}"))
    helpers = [piece for piece in found if piece.folder == RUNTIME]
    body = [
        _expected(shown),
        schedule,
        *(piece.source for piece in found if piece.folder != RUNTIME),
        HELPERS + "\n\n\n".join(_sources(helpers)),
        *filter(None, ["\n".join(calls.longs.lines())]),
        end,
    ]
    text = "\n\n\n".join(body)
    head = f"{_head(replay, shown, name, calls.handles)}\n\n{_imports(text)}\n\n"
    return Script(f"{head}{text}\n", frozenset(one for piece in helpers for one in piece.names))


def function_name(breach: Breach) -> str:
    """Return the name of the function that looks for the symptom of a breach."""
    return f"{breach.requirement.replace('.', '_')}__{breach.code}".replace("-", "_")


def _head(replay: Replay, shown: list[Breach], name: str, handles: Handles) -> str:
    seen = [without_the_suite(one_line(breach.sentence), handles) for breach in shown]
    lines = [
        *wrap(_title(replay, shown), WIDTH),
        "",
        f"Seen with {replay.client} {one_line(replay.version)}:",
        *(line for one in seen for line in _item(f"{one}.")),
        "",
        "In two terminals (assay broker comes with the Python package mq-assay):",
        "",
        f"    assay broker --faults {name}.faults.json",
        f"    python {name}.py pulsar://127.0.0.1:6650 http://127.0.0.1:8080",
        "",
        "Exit code 0: as expected; 1: the deviation shows; 2: no result. Restart the broker for each run.",
    ]
    return f'#!/usr/bin/env python3\n"""{_inside_quotes(lines)}\n"""'


def _title(replay: Replay, shown: list[Breach]) -> str:
    """Return what the Case is about; of one that was found by chance, what was not kept."""
    title = one_line(replay.case.title)
    if title.startswith(REDUCED):
        first = re.split(r"(?<=[.;:]) ", one_line(shown[0].clause), maxsplit=1)[0]
        return f"{replay.client} {one_line(replay.version)} does not keep this: {first.rstrip('.;:')}."
    if words_of(replay.case.id):
        # The circumstances of a permutation, in the suite's words.
        title = re.sub(r" \([^()]*\)$", "", title)
    return f"{title[:1].upper()}{title[1:]}."


def _expected(shown: list[Breach]) -> str:
    """Each clause under a dash."""
    lines = [line for clause in dict.fromkeys(one_line(breach.clause) for breach in shown) for line in _item(clause)]
    return f'EXPECTED = """\n{_inside_quotes(lines)}\n"""'


def _item(sentence: str) -> list[str]:
    return wrap(sentence, WIDTH, initial_indent="- ", subsequent_indent="  ")


def _inside_quotes(lines: Iterable[str]) -> str:
    return "\n".join(lines).replace("\\", "\\\\").replace('"""', "'''")


def _imports(text: str) -> str:
    import_lines = imports(text)
    return "\n".join(["from __future__ import annotations", "", *import_lines, "", _CLIENT])


_CLIENT: Final = f"""try:
    import pulsar
except ImportError as error:
    print(f"{CLIENT} is not installed, so there is no result: {{error}}; python -m pip install {CLIENT}")
    sys.exit(2)"""


def _sources(found: list[Piece]) -> Iterator[str]:
    """Constants that follow each other stand together."""
    for is_constant, group in groupby(found, key=lambda piece: piece.is_constant):
        sources = [piece.source for piece in group]
        yield from ["\n".join(sources)] if is_constant else sources


def _end(replay: Replay, shown: list[Breach], calls: Calls) -> str:
    known = pieces()
    # After one that closes everything the others could not judge.
    functions = sorted((function_name(breach) for breach in shown), key=lambda one: "finish" in known[one].uses)
    must_act = [calls.faults[index] for index, fault in enumerate(replay.case.faults) if not fault.optional]
    symptoms = Text(f"[{', '.join(dict.fromkeys(functions))}]")
    call = called(
        "main", Text("EXPECTED"), Text("schedule"), symptoms, plan=Text(flat(plan_of(replay.case))), must_act=must_act
    )
    return f'if __name__ == "__main__":\n{indent(call, "    ")}'
