"""What do metrics say? Prometheus, web requests, Jobs, and what installed packages add."""
