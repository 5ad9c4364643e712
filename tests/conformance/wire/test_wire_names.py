"""What the room shows to others is what its __all__ says."""

from __future__ import annotations

import types

from assay_conformance import wire


def test_all_lists_the_public_names() -> None:
    public = {
        name
        for name, value in vars(wire).items()
        if not name.startswith("_") and not isinstance(value, types.ModuleType) and name != "annotations"
    }
    assert public == set(wire.__all__)
