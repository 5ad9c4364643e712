"""Pages and error sentences say how assay is really installed: from a checkout, for no package index has it."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from assay_conformance.model.extras import install, installing

ROOT = Path(__file__).parents[2]
_BY_NAME = re.compile(r"install[^\n]*\bmq-assay|mq-assay\[[a-z,]+\]")
_EXTRA = re.compile(r"pip install (?:-\w+ )*'\.\[([a-z,]+)\]'|\binstall\('(\w+)'\)")


_FOLDERS = ("bench", "conformance", "docs", "faults", "fixtures", "fuzz", "reports", "tests")
"""What a checkout has besides the files at its top. A machine that the tests run on may have no git to ask."""


def texts() -> dict[str, str]:
    files = [*ROOT.glob("*"), *(path for folder in _FOLDERS for path in (ROOT / folder).rglob("*"))]
    found = (path for path in files if path.suffix in (".py", ".md", ".toml", ".j2") and path != Path(__file__))
    return {str(path.relative_to(ROOT)): path.read_text("utf-8") for path in found}


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
