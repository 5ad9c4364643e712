"""What the wheel holds: only names of ours, so that it lives beside any other package."""

from __future__ import annotations

import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(folder), str(ROOT)]
    subprocess.run(command, check=True)
    return next(folder.glob("*.whl"))


def test_every_entry_of_the_wheel_is_ours(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert [name for name in names if not name.startswith(("assay_", "mq_assay-"))] == []


def test_the_wheel_carries_agents_catalogue_and_templates(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    wanted = {
        "assay_fixtures/_agents/pulsar-python/agent.toml",
        "assay_fixtures/_agents/pulsar-python/agent.py",
        "assay_fixtures/_agents/pulsar-python/pulsar_agent/load.py",
        "assay_fixtures/_agents/pulsar-python/expectations.toml",
        "assay_fixtures/_brokers/pulsar/expectations.toml",
        "assay_conformance/catalogue/resend.toml",
        "assay_conformance/py.typed",
    }
    assert wanted - names == set()


def test_no_component_folder_is_a_package_itself() -> None:
    folders = ("conformance", "faults", "fixtures", "reports")
    assert [name for name in folders if (ROOT / name / "__init__.py").exists()] == []


def test_it_installs_beside_the_packages_fixtures_and_reports(wheel: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "env", with_pip=True)
    python = tmp_path / "env" / "bin" / "python"
    subprocess.run(
        [python, *["-m", "pip", "install", "-q", "--no-compile"], str(wheel), "fixtures", "reports"], check=True
    )
    code = "import fixtures, reports, assay_fixtures, assay_reports; print(fixtures.__file__)"
    told = subprocess.run([python, "-c", code], check=True, capture_output=True, text=True, cwd=tmp_path)
    assert "site-packages/fixtures/" in told.stdout
    heavy = subprocess.run([python, "-m", "pip", "list", "--format=freeze"], check=True, capture_output=True, text=True)
    installed = {line.partition("==")[0].lower() for line in heavy.stdout.splitlines()}
    assert installed & {"pyspark", "pulsar-client", "testcontainers", "toxiproxy-python", "grpcio-tools"} == set()
