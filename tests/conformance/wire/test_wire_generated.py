"""The generated code is that of pulsar.proto, and old enough for every runtime the package runs with."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
from grpc_tools import protoc  # type: ignore[import-untyped]

import assay_conformance.wire
from assay_conformance.wire import pulsar_pb2

ROOT: Final = Path(__file__).resolve().parents[3]
PACKAGE: Final = Path(assay_conformance.wire.__file__).resolve().parent
PROTO: Final = "assay_conformance/wire/pulsar.proto"


def compiled(out: Path) -> FileDescriptorProto:
    """What the compiler at hand makes of the .proto; every version of it describes the same file alike."""
    arguments = ["protoc", f"--proto_path={PACKAGE.parents[1]}", f"--descriptor_set_out={out}", PROTO]
    assert protoc.main(arguments) == 0
    (described,) = FileDescriptorSet.FromString(out.read_bytes()).file
    return described


def without_json_names(described: FileDescriptorProto) -> FileDescriptorProto:
    # The compiler leaves them out of generated code; they follow from the names.
    messages = list(described.message_type)
    while messages:
        message = messages.pop()
        messages += message.nested_type
        for field in message.field:
            field.ClearField("json_name")
    return described


def test_generated_code_is_up_to_date(tmp_path: Path) -> None:
    generated = FileDescriptorProto.FromString(pulsar_pb2.DESCRIPTOR.serialized_pb)
    assert without_json_names(compiled(tmp_path / "set")) == without_json_names(generated)


def test_generated_code_runs_with_the_oldest_runtime() -> None:
    text = (PACKAGE / "pulsar_pb2.py").read_text()
    made_for = re.search(r"# Protobuf Python Version: (\d+)\.(\d+)\.", text)
    floor = re.search(r'"protobuf>=(\d+)\.(\d+),', (ROOT / "pyproject.toml").read_text())
    assert made_for is not None
    assert floor is not None
    assert made_for.groups() == floor.groups()


@pytest.mark.parametrize("name", sorted(pulsar_pb2.DESCRIPTOR.message_types_by_name))
def test_stub_knows_every_field(name: str) -> None:
    stub = (PACKAGE / "pulsar_pb2.pyi").read_text()
    (body,) = re.findall(rf"^class {name}\(.*?(?=^class |\Z)", stub, re.MULTILINE | re.DOTALL)
    fields = pulsar_pb2.DESCRIPTOR.message_types_by_name[name].fields
    assert set(re.findall(r"^    [A-Z0-9_]+_FIELD_NUMBER", body, re.MULTILINE)) == {
        f"    {field.name.upper()}_FIELD_NUMBER" for field in fields
    }
