"""Certifying on a cluster that somebody else runs: over TLS, with a token, and without a trace in it."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
from tests.end_to_end.processes import eventually
from tests.end_to_end.running import command_line
from tests.real.external.conftest import ADMIN, Somewhere, token

from assay_fixtures.brokers.pulsar.admin import Admin
from assay_fixtures.brokers.pulsar.rest import Rest

CASE = "ordering/pipelined-sends"


def words(where: Somewhere, base: Path, *more: str, secret: str | None = None) -> list[str]:
    """A certification there. Options in `more` stand for the usual ones."""
    usual = {"--select": CASE, "--tls-ca": str(where.ca)}
    if secret is None:
        usual["--token-file"] = str(where.token_file)
    else:
        usual["--token"] = secret
    kept = [word for option, value in usual.items() if option not in more for word in (option, value)]
    place = ["--run-dir", str(base), "--broker", where.service_url, "--admin", where.admin_url]
    return ["certify", "reference", *place, *kept, *more]


def run(where: Somewhere, base: Path, *more: str, secret: str | None = None) -> subprocess.CompletedProcess[str]:
    command = command_line(*words(where, base, *more, secret=secret))
    return subprocess.run(command, capture_output=True, text=True, check=False)


def certified(where: Somewhere, base: Path, *more: str) -> int:
    """The exit code of the command."""
    ended = run(where, base, *more)
    print(ended.stderr, file=sys.stderr)
    return ended.returncode


def sentence_of(ended: subprocess.CompletedProcess[str]) -> str:
    (line,) = (line for line in ended.stderr.splitlines() if line.startswith("assay: "))
    return line


def in_seconds(seconds: int) -> int:
    return int(time.time()) + seconds


@contextmanager
def renewed(file: Path, lasts_s: int) -> Iterator[None]:
    """A token in `file` that lasts so long, replaced by a new one again and again."""
    stopped = Event()

    def renew() -> None:
        while True:
            file.with_suffix(".new").write_text(token(ADMIN, expires_s=in_seconds(lasts_s)))
            file.with_suffix(".new").rename(file)
            begun.set()
            if stopped.wait(lasts_s / 4):
                return

    begun, thread = Event(), Thread(target=renew)
    thread.start()
    begun.wait()
    try:
        yield
    finally:
        stopped.set()
        thread.join()


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


@pytest.mark.one_in(2)
def test_namespaces_go_into_a_given_tenant_and_from_there(somewhere: Somewhere, tmp_path: Path) -> None:
    assert certified(somewhere, tmp_path, "--tenant", "public") == 0
    assert left(somewhere) == ([], [])


@pytest.mark.few(1)
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
    somewhere: Somewhere, tmp_path: Path, secret: str, sentence: str
) -> None:
    ended = run(somewhere, tmp_path, secret=secret)
    assert ended.returncode == 2
    assert sentence in sentence_of(ended)
    assert left(somewhere) == ([], [])


def test_authority_that_did_not_sign_is_one_sentence(somewhere: Somewhere, tmp_path: Path) -> None:
    ended = run(somewhere, tmp_path, "--tls-ca", str(somewhere.other_ca))
    assert ended.returncode == 2
    line = sentence_of(ended)
    assert "its certificate is not believed" in line
    assert "--tls-ca" in line


@pytest.mark.long
def test_brokers_that_ask_for_the_token_again_are_told_the_one_that_is_in_the_file(
    somewhere: Somewhere, tmp_path: Path
) -> None:
    """A Case that lasts longer than a token; its client knows nothing of tokens."""
    file = tmp_path / "token"
    with renewed(file, 8):
        more = ("--token-file", str(file), "--select", "throttling/dispatch-rate-for-ten-periods", "--tier", "full")
        # On a busy machine its rates are not judged: 3.
        assert certified(somewhere, tmp_path / "runs", *more) in (0, 3)
    assert "Refreshed authentication credentials for role admin" in somewhere.log.read_text()


@pytest.mark.long
def test_what_cannot_be_removed_for_a_token_has_expired_is_removed_with_a_new_one(
    somewhere: Somewhere, tmp_path: Path
) -> None:
    file = tmp_path / "token"
    file.write_text(token(ADMIN, expires_s=in_seconds(12)))
    more = ("--token-file", str(file), "--select", "throttling/dispatch-rate-for-ten-periods", "--tier", "full")
    ended = run(somewhere, tmp_path / "runs", *more)
    assert ended.returncode == 2, ended.stderr
    assert "the token was not accepted (expired" in ended.stderr.splitlines()[-1]
    file.write_text(token(ADMIN))
    subprocess.run(command_line("tools", "clean"), check=True)
    assert left(somewhere) == ([], [])


@pytest.mark.long
def test_a_run_that_is_killed_leaves_what_the_next_one_removes(somewhere: Somewhere, tmp_path: Path) -> None:
    command = command_line(
        *words(somewhere, tmp_path, "--select", "throttling/dispatch-rate-for-ten-periods", "--tier", "full")
    )
    with subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as running:
        eventually(lambda: left(somewhere)[0] != [], "a tenant", 60)
        running.kill()
    assert certified(somewhere, tmp_path) == 0
    assert left(somewhere) == ([], [])


@pytest.mark.long
def test_a_cluster_that_asks_for_a_certificate_is_shown_ours(mutual: Somewhere, tmp_path: Path) -> None:
    assert certified(mutual, tmp_path, "--tls-cert", str(mutual.our_certificate)) == 0
    assert left(mutual) == ([], [])


@pytest.mark.long
@pytest.mark.parametrize("shown", [False, True], ids=["none", "another's"])
def test_a_certificate_that_does_not_do_is_one_sentence(mutual: Somewhere, tmp_path: Path, shown: bool) -> None:
    certificate = ("--tls-cert", str(mutual.other_certificate)) if shown else ()
    ended = run(mutual, tmp_path, *certificate)
    assert ended.returncode == 3
    line = sentence_of(ended)
    assert "asks who we are and does not believe it" in line
    assert "--tls-cert" in line
