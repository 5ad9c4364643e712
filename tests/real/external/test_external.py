"""Certifying on a cluster that somebody else runs: over TLS, with a token, and without a trace in it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.real.external.conftest import ADMIN, Somewhere, token

from assay_fixtures.brokers.pulsar.admin import Admin
from assay_fixtures.brokers.pulsar.rest import Rest
from assay_fixtures.cli import assay, main

CASE = "ordering/pipelined-sends"


def certified(where: Somewhere, base: Path, *more: str, secret: str | None = None) -> int:
    """The exit code of the command."""
    shown = ("--token", secret) if secret is not None else ("--token-file", str(where.token_file))
    ca = () if "--tls-ca" in more else ("--tls-ca", str(where.ca))
    words = ["certify", "reference", "--select", CASE, "--run-dir", str(base), "--broker", where.service_url]
    with pytest.raises(SystemExit) as ended:
        main([*words, "--admin", where.admin_url, *shown, *ca, *more])
    assert assay.name == "assay"
    return int(str(ended.value.code))


def left(where: Somewhere) -> tuple[list[str], list[str]]:
    """Tenants of ours, and namespaces of ours in a tenant of theirs."""

    async def ask() -> Any:
        admin = Admin(Rest([where.admin_url], where.access))
        try:
            return await admin.tenants(), await admin.namespaces("public")
        finally:
            await admin.close()

    tenants, namespaces = asyncio.run(ask())
    return [name for name in tenants if name.startswith("assay-")], [name for name in namespaces if "assay" in name]


def test_client_is_certified_over_tls_with_a_token_and_leaves_nothing(somewhere: Somewhere, tmp_path: Path) -> None:
    assert certified(somewhere, tmp_path) == 0
    assert left(somewhere) == ([], [])


def test_namespaces_go_into_a_given_tenant_and_from_there(somewhere: Somewhere, tmp_path: Path) -> None:
    assert certified(somewhere, tmp_path, "--tenant", "public") == 0
    assert left(somewhere) == ([], [])


@pytest.mark.parametrize(
    ("secret", "sentence"),
    [
        (token(ADMIN, expires_s=1_000_000), "the token was not accepted"),
        (token("somebody"), "or its role may not do that"),
        ("rubbish", "the token was not accepted"),
    ],
    ids=["expired", "no permission", "no token at all"],
)
def test_token_that_does_not_do_is_one_sentence(
    somewhere: Somewhere, tmp_path: Path, capsys: pytest.CaptureFixture[str], secret: str, sentence: str
) -> None:
    assert certified(somewhere, tmp_path, secret=secret) == 2
    (line,) = (line for line in capsys.readouterr().err.splitlines() if line.startswith("assay: "))
    assert sentence in line
    assert left(somewhere) == ([], [])


def test_authority_that_did_not_sign_is_one_sentence(
    somewhere: Somewhere, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert certified(somewhere, tmp_path, "--tls-ca", str(somewhere.other_ca)) == 2
    (line,) = (line for line in capsys.readouterr().err.splitlines() if line.startswith("assay: "))
    assert "its certificate is not believed" in line
    assert "--tls-ca" in line
