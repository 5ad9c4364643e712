"""Commands from keywords, so that a caller writes the fields that matter and nothing else."""

from __future__ import annotations

from typing import Any

from assay_conformance.wire.command_type import BODY_FIELDS, CommandType
from assay_conformance.wire.errors import LocalProtocolError
from assay_conformance.wire.pulsar_pb2 import BaseCommand, MessageIdData

NO_ID = 2**64 - 1
"""-1 as uint64 carries it: the ledger and entry of a duplicate's receipt, the request id of a broker's own close."""


def command(command_type: CommandType, **fields: Any) -> BaseCommand:
    """Return the command of this type with these fields; a nested message may be given as a dict.

    Raises LocalProtocolError for a type without a message, a field it does not have, and a value of the wrong type.
    """
    name = BODY_FIELDS.get(command_type)
    if name is None:
        raise LocalProtocolError(f"{command_type.name} has a number but no message here")
    try:
        return BaseCommand(type=command_type, **{name: fields})
    except (TypeError, ValueError) as error:
        raise LocalProtocolError(f"{command_type.name}: {error}") from error


def message_id(ledger: int, entry: int, partition: int = -1, batch_index: int = -1) -> MessageIdData:
    """Return a message id; partition and batch index are left out of the bytes where they are -1, their default."""
    built = MessageIdData(ledgerId=ledger, entryId=entry)
    if partition != -1:
        built.partition = partition
    if batch_index != -1:
        built.batch_index = batch_index
    return built
