"""Calendars: when a cluster may be touched. Pure; `now` is an argument."""
