"""Histories of a client with a supplier of credentials."""

from __future__ import annotations

import msgspec

from assay_conformance.checks.trial import ANY_CASE
from assay_conformance.history.script import Script
from assay_conformance.model.case import Case, ClientConfig


class Supplied(Script):
    def connects(self, conn: int, token: str | None) -> None:
        """A connection that begins with this token."""
        self.opened(conn)
        self.up("CONNECT", conn, fields={} if token is None else {"auth_data": token.encode().hex()})
        self.down("CONNECTED", conn)


def case(credentials: str) -> Case:
    return msgspec.structs.replace(ANY_CASE, config=ClientConfig(client={"credentials": credentials}))
