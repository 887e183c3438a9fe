"""How often is each promise put to the test on a real server, at least?"""

from collections import Counter

GUARDS = {
    "S9": {"carriers_created": 80, "relabelled": 8, "twins_removed": 2},
    "S11": {"torn": 30, "removals": 5, "brake": 1, "kept_by_live_read": 10},
    "R1": {"restarts": 8, "restarts_in_flight": 2, "crashes_between_writes": 4,
           "verdict_before_touch": 300, "crash_after_write_k": 4},
    "R2": {"held": 16, "refused": 16, "woken": 2},
    "R4": {"conflict": 2, "throttled": 2, "error": 2, "unavailable": 2, "reset": 2, "lost": 2,
           "cut": 1, "read_back": 15, "waited_as_asked": 1, "backed_off": 3},
}  # fmt: skip
"""For each promise the states in which it could be broken, and how often each is reached at least."""


def check(promise: str, counts: Counter[str]) -> None:
    """Fails where a guarded state was not reached often enough."""
    found = {state: counts[f"{promise}.{state}"] for state in GUARDS[promise]}
    print(f"{promise}: {found}")
    assert not {state: n for state, n in found.items() if n < GUARDS[promise][state]}
