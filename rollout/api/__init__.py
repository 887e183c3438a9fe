"""What does the API server's JSON mean, and is it well formed? Wire shapes to values and back.

Nothing is loaded before it is asked for: `decoding.decode` reads an object; `validation`, `defaults`, `load` and
`preflight` need pydantic or YAML, and are imported from where they are, by who needs them.
"""
