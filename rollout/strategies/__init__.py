"""The rollout state machine, for use with or without a hub."""
