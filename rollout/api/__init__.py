"""What does the API server's JSON mean, and is it well formed? Wire shapes to values and back."""

from rollout.api.decoding import Decoded, decode
from rollout.api.defaults import with_defaults
from rollout.api.load import load
from rollout.api.preflight import preflight
from rollout.api.validation import validate
from rollout.api.work import decode_work_text, decode_works

__all__ = [
    "Decoded",
    "decode",
    "decode_work_text",
    "decode_works",
    "load",
    "preflight",
    "validate",
    "with_defaults",
]
