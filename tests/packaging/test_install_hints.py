"""Pages and error sentences say how assay is really installed: from a checkout, for no package index has it."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

from assay_conformance.model.extras import install, installing

ROOT = Path(__file__).parents[2]
_BY_NAME = re.compile(r"install[^\n]*\bmq-assay|mq-assay\[[a-z,]+\]")
_EXTRA = re.compile(r"pip install (?:-\w+ )*'\.\[([a-z,]+)\]'|\binstall\('(\w+)'\)")


def texts() -> dict[str, str]:
    listed = subprocess.run(
        ["git", "ls-files", "*.py", "*.md", "*.toml", "*.j2"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    return {name: (ROOT / name).read_text("utf-8") for name in listed if (ROOT / name) != Path(__file__)}


def test_nothing_asks_to_install_assay_from_an_index() -> None:
    # pyproject.toml builds the extra `all` of the others.
    found = {name for name, text in texts().items() if _BY_NAME.search(text)}
    assert found <= {"pyproject.toml"}


def test_extras_that_are_named_exist() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    named = {
        extra for text in texts().values() for groups in _EXTRA.findall(text) for extra in "".join(groups).split(",")
    }
    assert named
    assert named - set(extras) == set()


def test_several_extras_are_one_command() -> None:
    assert installing("spark", "pulsar", "spark") == "pip install '.[pulsar,spark]'"
    assert install("tls") == "`pip install '.[tls]'` in the checkout of assay"
