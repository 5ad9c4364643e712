"""Every requirement, stated once: TOML entries and the loader that turns them into values."""

from assay_conformance.catalogue.loader import Catalogue, load, parse

__all__ = ["Catalogue", "load", "parse"]
