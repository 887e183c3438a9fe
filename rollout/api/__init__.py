"""Reads, validates and writes the JSON of the API, for every kind.

Nothing is loaded before it is asked for: `decoding.decode` reads an object; `validation`, `defaults`, `load` and
`preflight` need pydantic or YAML, and are imported from where they are, by who needs them.
"""
