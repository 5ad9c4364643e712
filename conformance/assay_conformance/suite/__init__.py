"""What pytest collects: `pytest --pyargs assay_conformance.suite --assay-agent AGENT`.

Nothing here runs a client: the items ask the plugin's fixtures by name.
"""
