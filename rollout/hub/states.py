"""Under which keys does a run keep what is no object in an embedded hub?

`EmbeddedHub.put_state`: kept in the same transaction as the objects, so that a run that was killed goes
on where it was.
"""

STARTED = "started"
"""The instant at which the first run began."""

CLOCK = "clock"
"""The instant at which a run on a clock of its own is; absent on real time."""

ALIVE = "alive"
"""The instant at which a run on real time was last alive."""

AGENTS = "agents"
"""What the simulated agents have pending, and the state of their chance."""

SCENARIO = "scenario"
"""How the agents behave: the text of the scenario and its seed."""
