"""The package's public names."""

from __future__ import annotations

import assay_conformance.broker as broker


def test_public_names_exist() -> None:
    assert all(hasattr(broker, name) for name in broker.__all__)
