"""How many writes may be in flight? As many as the server grants: no fixed rate, no fixed number.

Additive increase, multiplicative decrease. The window grows by one for each round trip in which it was
full (by one for each answer until the first setback); a refusal for load or an answer that takes far
longer than is usual shrinks it, at most once per round trip. A server that refuses again right after
that is left alone for as long as it asks. Instants are seconds on a steady clock, given as arguments.
"""

from dataclasses import dataclass

FIRST, LEAST, MOST = 16, 1, 64
SLOW_SECONDS = 0.5
"""An answer is never called slow below this, however fast others are."""
SLOW_TIMES = 8.0
"""Above `SLOW_SECONDS`, slow is so many times the usual."""
HOLD_SECONDS = 1.0
"""After a setback the window does not grow for so long: each try costs somebody a refusal.

It is also what API servers ask to wait, always: only more than that is taken as meant for all.
"""


@dataclass(slots=True)
class Window:
    """The number that may be in flight, and since when."""

    size: float = FIRST
    in_flight: int = 0
    paused_until: float = 0.0
    usual: float = 0.0
    answered_at: float = 0.0
    shrunk_at: float = float("-inf")
    setbacks: int = 0  # in a row

    def is_open(self, now: float) -> bool:
        """Whether one more may be sent."""
        return self.in_flight < int(self.size) and now >= self.paused_until

    def sent(self) -> None:
        self.in_flight += 1

    def answered(self, sent_at: float, now: float) -> None:
        """An answer came that says nothing of load, good or bad for whoever asked."""
        was_full = self.in_flight >= int(self.size)
        self.in_flight -= 1
        self.setbacks = 0
        took = now - sent_at
        if took > SLOW_SECONDS and self.usual and took > SLOW_TIMES * self.usual:
            self._shrink(0.8, sent_at, now)
        elif was_full and now >= self.shrunk_at + HOLD_SECONDS:
            never = self.shrunk_at == float("-inf")
            self.size = min(MOST, self.size + (1 if never else 1 / self.size))
        # The usual is the quickest lately: it may double in a minute, so that a busy hour does not
        # become the rule, and a server that moved away does not stay slow for ever.
        older = self.usual * 2 ** min((now - self.answered_at) / 60, 10)
        self.usual = min(took, older) if self.usual else took
        self.answered_at = now

    def overloaded(self, sent_at: float, now: float, wait: float = 0.0) -> None:
        """The server refused for load, or did not answer in time.

        Args:
            wait: seconds after which it wants to be asked again.
        """
        self.in_flight -= 1
        if self._shrink(0.5, sent_at, now):
            self.setbacks += 1
        if wait > HOLD_SECONDS or self.setbacks > 1:
            self.paused_until = max(self.paused_until, now + wait)

    def _shrink(self, factor: float, sent_at: float, now: float) -> bool:
        if sent_at < self.shrunk_at:
            return False  # it was sent before the last setback, which it is a part of
        self.size = max(LEAST, min(self.size, self.in_flight + 1) * factor)
        self.shrunk_at = now
        return True
