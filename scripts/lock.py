"""Writes what an installation is made of, each package with the hash of its file, for `pip install --require-hashes`.

It reads a report of pip (`pip install --dry-run --report`) and keeps names, versions and hashes; where the
files came from is left out. The hashes are those of the platform that it runs on.
"""

import json
import sys
from typing import Any


def locked(report: dict[str, Any], own: str = "rollout") -> list[str]:
    """A line for each package but our own. Raises: ValueError for one without a SHA-256 hash."""
    lines = []
    for each in report["install"]:
        name, version = each["metadata"]["name"], each["metadata"]["version"]
        if name == own:
            continue
        hashes = (each["download_info"].get("archive_info") or {}).get("hashes") or {}
        if "sha256" not in hashes:
            raise ValueError(f"{name} {version} has no SHA-256 hash: pip's report names none")
        lines.append(f"{name}=={version} --hash=sha256:{hashes['sha256']}")
    return sorted(lines, key=str.lower)


if __name__ == "__main__":
    sys.stdout.write("\n".join(locked(json.load(sys.stdin))) + "\n")
