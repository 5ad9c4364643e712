"""Ledgers judged by Spark: folds, screen, and the rows that the pure rules then read.

Importing this package needs the extra `spark`; no other package imports pyspark. The rules themselves are those of
`assay_conformance.ledger`: what is done here only has to find every bucket of rows that they could object to.
"""
