"""JSON Schemas do not depend on the version of the library that makes them."""

from __future__ import annotations

from assay_conformance.model.json_schema import with_plain_descriptions

INDENTED = "One line.\n\n    Another one."
PLAIN = "One line.\n\nAnother one."


def test_descriptions_lose_the_indentation_of_docstrings() -> None:
    schema = {"description": INDENTED, "anyOf": [{"description": INDENTED}, {"description": PLAIN}]}
    assert with_plain_descriptions(schema) == {"description": PLAIN, "anyOf": [{"description": PLAIN}] * 2}


def test_property_of_that_name_stays_a_schema() -> None:
    schema = {"properties": {"description": {"type": "string", "description": INDENTED}}}
    assert with_plain_descriptions(schema) == {"properties": {"description": {"type": "string", "description": PLAIN}}}
