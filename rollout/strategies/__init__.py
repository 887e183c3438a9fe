"""Which clusters are touched now? The state machine, to be used with or without a hub."""
