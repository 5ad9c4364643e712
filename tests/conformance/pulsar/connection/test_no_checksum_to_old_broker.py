"""The check of `connection.no-checksum-to-old-broker`, both ways, on histories of a few lines."""

from __future__ import annotations

import pytest
from tests.conformance.pulsar._trials import judged
from tests.conformance.pulsar.connection._negotiated import agreed

from assay_conformance.pulsar.checks.connection.no_checksum_to_old_broker import no_checksum_to_old_broker


@pytest.mark.parametrize(
    ("version", "fields", "said"),
    [
        (5, {"checksum": False}, ([], 1)),
        (5, {}, (["has-checksum"], 0)),
        (6, {}, ([], 0)),
    ],
    ids=["without for an old broker", "with one for an old broker", "with one from version 6 on"],
)
def test_sends_carry_a_checksum_from_version_6_on(
    version: int, fields: dict[str, bool], said: tuple[list[str], int]
) -> None:
    story = agreed(version)
    story.send_frame(0, fields=fields)
    assert judged(no_checksum_to_old_broker, story) == said
