"""What does chance say for this cluster? Draws by hashing, so that no order of events matters.

Every draw follows from the seed, the work, its generation and the attempt alone. There is no
stream of numbers that one cluster could take from another.
"""

import hashlib
import struct
from datetime import timedelta
from statistics import NormalDist

from rollout.sim.scenario import Delay

Draws = tuple[float, ...]
"""Five independent numbers from 0 (included) to 1 (excluded)."""

_unpack = struct.Struct("<5Q").unpack
_MICROSECOND = timedelta(microseconds=1)
_STANDARD = NormalDist()


def draws(seed: int, key: str, generation: int, attempt: int) -> Draws:
    """The same for the same arguments, in every process and on every machine."""
    text = f"{seed}|{key}|{generation}|{attempt}"
    numbers = _unpack(hashlib.blake2b(text.encode(), digest_size=40).digest())
    return tuple([(number >> 11) * 2.0**-53 for number in numbers])


def span(delay: Delay, draw: float) -> timedelta:
    """The time that a draw stands for, in whole microseconds, never below zero."""
    if delay.max is not None and delay.mean is None:
        if delay.max == delay.min:
            return delay.min
        steps = (delay.max - delay.min) // _MICROSECOND
        return delay.min + int(draw * (steps + 1)) * _MICROSECOND
    assert delay.mean is not None
    assert delay.sigma is not None
    if not delay.sigma:
        found = delay.mean
    else:
        deviation = _STANDARD.inv_cdf(min(max(draw, 2.0**-53), 1 - 2.0**-53))
        found = delay.mean + round(deviation * (delay.sigma / _MICROSECOND)) * _MICROSECOND
    found = max(found, delay.min)
    return found if delay.max is None else min(found, delay.max)
