"""Which histories are run? A fixed set, the same for ever, and a fresh one that follows from the commit."""

import hashlib
import shlex
import subprocess

FIRST_FRESH = 1_000_000
SPAN = 1_000_000_000


def commit() -> str:
    """The commit that is checked out, "" where there is no git."""
    try:
        ran = subprocess.run(
            ["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=False
        )
    except OSError:
        return ""
    return ran.stdout.strip()


def fresh_from(word: str) -> int:
    """The first seed of a fresh set. ``word``: a commit, or any other text; "" is one of its own."""
    digest = hashlib.sha256(word.encode()).hexdigest()
    return FIRST_FRESH + int(digest, 16) % SPAN


def repeats(kind: str, seed: int, about: str = "") -> str:
    """The command that runs this one history again. ``about``: the rare state that was asked for, if any."""
    asked = f" --about {shlex.quote(about)}" if about else ""
    return f"python -m tests.safety --kind {kind} --seed {seed} --histories 1{asked}"
