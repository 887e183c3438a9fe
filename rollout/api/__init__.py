"""What does the API server's JSON mean, and is it well formed? Wire shapes to values and back.

Decoding is here. What needs pydantic or YAML is imported from where it is, by who needs it:
`rollout.api.validation`, `rollout.api.defaults`, `rollout.api.load`, `rollout.api.preflight`.
"""

from rollout.api.decoding import Decoded, decode

__all__ = ["Decoded", "decode"]
