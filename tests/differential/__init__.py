"""Both profiles on random inputs: `python -m tests.differential`."""
