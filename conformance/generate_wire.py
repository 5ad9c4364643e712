"""Make assay_conformance/wire/pulsar_pb2.py and .pyi from pulsar.proto.

    uv run --no-project --with grpcio-tools==1.75.1 python conformance/generate_wire.py

A protobuf runtime refuses code made for a newer runtime than itself. grpcio-tools 1.75.1 makes code for 6.31.1, the
oldest runtime the package promises to run with, so the pin here and the floor in pyproject.toml move together.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from grpc_tools import protoc  # type: ignore[import-untyped]

ROOT = Path(__file__).resolve().parent
PROTO = "assay_conformance/wire/pulsar.proto"
STUB = ROOT / "assay_conformance/wire/pulsar_pb2.pyi"


def main() -> int:
    """Write both files beside pulsar.proto; the exit code is the compiler's."""
    code = int(protoc.main(["protoc", f"--proto_path={ROOT}", f"--python_out={ROOT}", f"--pyi_out={ROOT}", PROTO]))
    if code == 0:
        # The compiler writes a bare Mapping, which strict type checking refuses.
        STUB.write_text(re.sub(r"\b_Mapping\]", "_Mapping[str, object]]", STUB.read_text()))
    return code


if __name__ == "__main__":
    sys.exit(main())
