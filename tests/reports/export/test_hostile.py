"""A replay file is data from anywhere: nothing in it becomes code of a script, whatever it says."""

from __future__ import annotations

import ast
import copy
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.profiles import scaled

from assay_conformance.model.errors import UsageError
from assay_fixtures.agents.manifest import find
from assay_reports.export import export
from assay_reports.replay import read_replay
from assay_reports.text import clean

REPLAYS = sorted((find("pulsar-python").folder / "replays").glob("*.json"))
OPTIONS = {role.value: names for role, names in find("pulsar-python").options.items()}
CODE = (
    "lz4 if exec('x') else 0",
    "x=__import__('os').system('x'), y",
    '"""\nimport os\n"""',
    "')\nimport os\n#",
    "x\n\n    import os",
    "\0",
    "\x1b]0;x\x07\x1b[2J",
    "\\",
    '"',
    "'",
    "{exec}",
    "\u202eecho\u2066",
    "import os",
    "a" * 300,
)
TEXTS = st.one_of(st.sampled_from(CODE), st.text(max_size=12))
VALUES: st.SearchStrategy[Any] = st.one_of(
    TEXTS,
    st.sampled_from([None, True, [], {}, -1, 2**64, 10**30, 1.5, ["x"], {"x": "y"}, [[[[]]]]]),
)


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        yield (*path, key)
        yield from _places(one, (*path, key))


@cache
def _document(path: Path) -> tuple[Any, tuple[tuple[Any, ...], ...]]:
    document = json.loads(path.read_bytes())
    return document, tuple(place for place in _places(document) if place[0] not in {"schema", "file", "client"})


@cache
def _known() -> frozenset[str]:
    """What the scripts of all shipped replays are made of."""
    found: set[str] = set()
    for path in REPLAYS:
        try:
            found |= _words(_exported(path.read_bytes()))
        except UsageError:
            continue
    return frozenset(found)


def _words(script: str) -> set[str]:
    """Every name, attribute, import and call, and what each call is of; what is numbered without its number."""
    told: set[str] = set()
    for node in ast.walk(ast.parse(script)):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                told.add(name)
            case ast.Call(func=func):
                told.add(f"call of {getattr(func, 'id', getattr(func, 'attr', type(func).__name__))}")
            case ast.alias(name=name):
                told.add(f"import of {name}")
            case ast.keyword(arg=str(name)):
                told.add(f"argument {name}")
    return {re.sub(r"_\d+$", "", word) for word in told}


def _exported(data: bytes) -> str:
    exported = export(read_replay(data, "x.json"), OPTIONS, "example")
    json.loads(exported.plan)
    return exported.script


@st.composite
def tampered(draw: st.DrawFn) -> bytes:
    """A shipped replay, one to three of whose places say something else, are called otherwise, or are gone."""
    document, places = _document(draw(st.sampled_from(REPLAYS)))
    document = copy.deepcopy(document)
    for place in draw(st.lists(st.sampled_from(places), min_size=1, max_size=3)):
        holder: Any = document
        try:
            for key in place[:-1]:
                holder = holder[key]
            was = holder[place[-1]]
        except (KeyError, IndexError, TypeError):
            continue
        if not isinstance(holder, dict | list):
            continue
        how = draw(st.sampled_from(["other", "other", "text", "renamed", "added", "gone"]))
        if how == "other":
            holder[place[-1]] = draw(VALUES)
        elif how == "text" or isinstance(holder, list):
            holder[place[-1]] = draw(TEXTS) if isinstance(was, str) else was
        elif how == "added":
            holder[draw(TEXTS)] = was
        else:
            del holder[place[-1]]
            if how == "renamed":
                holder[draw(TEXTS)] = was
    return json.dumps(document).encode()


@settings(max_examples=scaled(50), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=tampered())
def test_a_tampered_replay_is_refused_or_exports_to_words_that_are_known(data: bytes) -> None:
    try:
        script = _exported(data)
    except UsageError:
        return
    compile(script, "example.py", "exec")
    assert clean(script) == script
    assert _words(script) - _known() == set()


def _with(change: Any) -> bytes:
    path = next(path for path in REPLAYS if path.stem == "batching--key-based-oversize-message")
    document = json.loads(path.read_bytes())
    change(document["case"], document)
    return json.dumps(document).encode()


@pytest.mark.parametrize("key", ["compression", "batching_type", "access_mode", "routing"])
@pytest.mark.parametrize("word", [*CODE, "__class__", "SHARED"])
def test_words_of_producers_are_looked_up(key: str, word: str) -> None:
    data = _with(lambda case, _: case.setdefault("config", {}).setdefault("producer", {}).update({key: word}))
    with pytest.raises(UsageError, match=rf"step \d+, open_producer: '{key}': expected one of .*, came "):
        _exported(data)


@pytest.mark.parametrize("key", ["subscription_type", "initial_position"])
@pytest.mark.parametrize("word", CODE)
def test_words_of_consumers_are_looked_up(key: str, word: str) -> None:
    opened = {"who": "agent", "verb": "open_consumer", "args": {"client": 1, "config": {key: word}}, "saves": 90}
    with pytest.raises(UsageError, match=rf"step \d+, open_consumer: '{key}': expected one of .*, came "):
        _exported(_with(lambda case, _: case["steps"].append(opened)))


def test_arguments_of_a_broker_step_have_names_that_it_takes() -> None:
    step = {"who": "broker", "verb": "unload", "args": {"topic": "t", "x=__import__('os').system('x'), y": 1}}
    with pytest.raises(UsageError, match=r"x\.json: step \d+: broker step 'unload': .*unknown key"):
        _exported(_with(lambda case, _: case["steps"].append(step)))


def test_title_and_sentence_stay_on_a_line_without_what_a_terminal_obeys() -> None:
    def change(case: Any, document: Any) -> None:
        case["title"] = 'Title"""\n\nimport os\0\x1b]0;x\x07'
        document["version"] = "3\n\n    curl x | sh"
        for breach in document["breaches"]:
            breach["sentence"] = breach["clause"] = "It\x1b[2J\nbroke"

    script = _exported(_with(change))
    assert clean(script) == script
    doc = ast.get_docstring(ast.parse(script))
    assert doc is not None
    assert doc.splitlines()[0] == "Title''' import os\\x00\\x1b]0;x\\x07."
    assert "It\\x1b[2J broke" in doc


def test_a_case_without_steps_makes_no_script() -> None:
    with pytest.raises(UsageError, match="the Case has no steps"):
        _exported(_with(lambda case, _: case.update(steps=[])))


def test_a_shipped_replay_is_what_is_tampered_with() -> None:
    assert len(_known()) > 100
    assert msgspec.json.decode(_with(lambda _case, _document: None))["client"] == "pulsar-client"
