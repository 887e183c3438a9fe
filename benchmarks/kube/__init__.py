"""How fast is a controller on a real API server, and what does it cost? ``python -m benchmarks.kube``."""
