"""JSON Schemas of our own structs, the same whatever version of msgspec makes them."""

from __future__ import annotations

import inspect
from typing import Any

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def with_plain_descriptions(schema: Any) -> Any:
    """Return the schema with its descriptions dedented: msgspec before 0.23 keeps the indentation of docstrings."""
    if isinstance(schema, dict):
        return {
            key: _plain(value) if key == "description" else with_plain_descriptions(value)
            for key, value in schema.items()
        }
    return [with_plain_descriptions(one) for one in schema] if isinstance(schema, list | tuple) else schema


def _plain(description: Any) -> Any:
    # A property may have this name, too, and a schema for its value.
    return inspect.cleandoc(description) if isinstance(description, str) else with_plain_descriptions(description)
