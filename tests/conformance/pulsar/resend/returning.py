"""Coming back and staying away, both ways."""

from __future__ import annotations

from assay_conformance.checks.base import Check


def codes_of(check: Check) -> list[str]:
    return [finding.code for finding in check.findings]
