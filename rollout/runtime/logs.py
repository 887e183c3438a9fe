"""Writes log lines, as text or as JSON."""

import json
import logging
import sys
from datetime import UTC, datetime

from rollout.model.instants import rfc3339_micro

TEXT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
LOUD = ("apscheduler", "asyncio", "aiohttp", "kubernetes", "urllib3")
"""Libraries that tell at level info what only their authors want to know."""


class JsonFormatter(logging.Formatter):
    """``time, level, logger, message``, and ``error`` with the traceback where there is one."""

    def format(self, record: logging.LogRecord) -> str:
        said = {
            "time": rfc3339_micro(datetime.fromtimestamp(record.created, UTC)),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            said["error"] = self.formatException(record.exc_info)
        return json.dumps(said, ensure_ascii=False)


def start_logging(form: str, level: str) -> None:
    """Log to stderr from here on. ``form`` is text or json."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if form == "json" else logging.Formatter(TEXT))
    root = logging.getLogger()
    for old in list(root.handlers):
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(level.upper())
    for name in LOUD:
        logging.getLogger(name).setLevel(logging.WARNING)
