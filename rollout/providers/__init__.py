"""Asks providers for metrics, and delivers notifications. Reads the network."""
