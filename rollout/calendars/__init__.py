"""When may a cluster be touched? Calendars, their windows, and time zones. Pure: `now` is an argument."""
