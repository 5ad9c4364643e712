"""The expectations file that docs/read-a-report.md shows is one a reader can start from."""

from __future__ import annotations

import re
from pathlib import Path

from assay_fixtures.packs import own_pack
from assay_reports.expectations import Expectations, check_known, read_expectations
from assay_reports.impact import IMPACT_MEANS

ROOT = Path(__file__).parents[3]


def example(folder: Path) -> Expectations:
    blocks = re.findall(r"```toml\n(.*?)```", (ROOT / "docs" / "read-a-report.md").read_text("utf-8"), re.DOTALL)
    path = folder / "expectations.toml"
    path.write_text(blocks[0], "utf-8")
    return read_expectations(path)


def test_example_names_what_exists(tmp_path: Path) -> None:
    pack = own_pack()
    check_known(example(tmp_path), pack.catalogue.requirements, {case.id for case in pack.cases})


def test_example_is_a_failure_that_is_really_listed(tmp_path: Path) -> None:
    real = read_expectations(ROOT / "fixtures" / "agents" / "pulsar-python" / "expectations.toml")
    shown = {(entry.requirement, entry.case, entry.code, entry.replay) for entry in example(tmp_path).entries}
    assert shown
    assert shown <= {(entry.requirement, entry.case, entry.code, entry.replay) for entry in real.entries}


def test_guide_says_what_each_impact_means() -> None:
    text = (ROOT / "docs" / "read-a-report.md").read_text("utf-8")
    rows = [f"| `{impact.value}` | {meaning} |" for impact, meaning in IMPACT_MEANS.items()]
    assert "\n".join(rows) in text
