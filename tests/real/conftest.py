"""What tests with real processes share. They have environments of their own in tox, and are not collected otherwise.

There what they need is missing only by mistake: nothing here is ever skipped.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from assay_faults.ledger import Ledger
from assay_fixtures.brokers.jvm.archive import installed
from assay_fixtures.brokers.jvm.command import Pulsar


@pytest.fixture(scope="session")
def pulsar() -> Pulsar:
    """The release; `assay tools install pulsar` comes first."""
    return installed()


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    """In the end nothing is left in it."""
    with Ledger.begin(tmp_path / "ledger") as ledger:
        yield ledger
        assert not ledger.left()
