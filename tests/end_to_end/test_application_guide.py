"""docs/test-your-application.md: what it shows is run, its example also with the bugs that it speaks of."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import pytest

from assay_conformance.model.event import Stored
from assay_fixtures.light.pulsar import LightPulsar
from assay_fixtures.pytesting.agent import Agent
from assay_fixtures.pytesting.faults import Faults

DOCS = Path(__file__).parents[2] / "docs"
GUIDE = (DOCS / "test-your-application.md").read_text()
EXAMPLE = DOCS / "examples" / "application"
WITHOUT_FAULTS = "test_every_order_has_its_invoice"
_BLOCK = r"```{}\n(.*?)```"
_FAILURE = re.compile(r"^    (test_\w+): (AssertionError: .*)$", re.MULTILINE)


def blocks(language: str) -> list[str]:
    return re.findall(_BLOCK.format(language), GUIDE, re.DOTALL)


class Bug(NamedTuple):
    """A change to the application, the test that fails for it, and how."""

    before: str
    after: str
    test: str
    failure: str


def bugs() -> list[Bug]:
    return [Bug(*_sides(diff), *failure) for diff, failure in zip(blocks("diff"), _FAILURE.findall(GUIDE), strict=True)]


def _sides(diff: str) -> tuple[str, str]:
    lines = diff.splitlines(keepends=True)
    return tuple("".join(line[1:] for line in lines if line.startswith(sign)) for sign in "-+")  # type: ignore[return-value]


def parts_of_files() -> list[str]:
    files = [path.read_text() for path in EXAMPLE.glob("*.py")]
    return [block for block in blocks("python") if any(block in text for text in files)]


SNIPPETS = [block for block in blocks("python") if block not in parts_of_files()]


def run_tests(folder: Path, *names: str) -> str:
    files = [f"{folder / 'test_orders.py'}::{name}" for name in names] or [str(folder)]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *files]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=240, cwd=folder).stdout


def test_example_passes_as_printed() -> None:
    assert "3 passed" in run_tests(EXAMPLE)


def test_guide_shows_the_application_and_a_test_for_each_of_its_bugs() -> None:
    assert len(parts_of_files()) == 1 + len(bugs()) == 3


@pytest.mark.parametrize("bug", bugs(), ids=lambda bug: bug.test)
def test_example_fails_with_the_bug_as_the_guide_says(bug: Bug, tmp_path: Path) -> None:
    for path in EXAMPLE.glob("*.py"):
        (tmp_path / path.name).write_text(path.read_text())
    application = tmp_path / "orders.py"
    text = application.read_text()
    assert text.count(bug.before) == 1
    application.write_text(text.replace(bug.before, bug.after))
    # Where nothing goes wrong, the bug is not seen.
    told = run_tests(tmp_path, WITHOUT_FAULTS, bug.test)
    assert f"E       {bug.failure}" in told.splitlines()
    assert f"FAILED test_orders.py::{bug.test}" in told
    assert "1 failed, 1 passed" in told


@pytest.mark.parametrize("snippet", SNIPPETS, ids=lambda text: text.strip().splitlines()[-1][:40])
def test_snippet_of_the_guide_runs(snippet: str, assay_broker: LightPulsar, assay_agent: Agent) -> None:
    # Faults of its own: those of the fixture would have to meet an application.
    names = {**vars(example()), "assay_broker": assay_broker, "assay_agent": assay_agent}
    names["assay_faults"] = Faults(assay_broker)
    if "start_application" in snippet:
        assay_agent.send("orders", [b"tea", b"close"])
    exec(compile(snippet, "docs/test-your-application.md", "exec"), names)
    if "start_application" in snippet:
        assert [event.topic for event in assay_broker.events() if isinstance(event, Stored)][-1].endswith("invoices")


def example() -> ModuleType:
    """The module of the example's tests, whose helpers the guide uses."""
    module = ModuleType("test_orders")
    module.__file__ = str(EXAMPLE / "test_orders.py")
    exec(compile((EXAMPLE / "test_orders.py").read_text(), module.__file__, "exec"), vars(module))
    return module
