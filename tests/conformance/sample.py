"""``python -m tests.conformance.sample SRC DST``: the vectors that are kept in the project.

Every tenth line of each file, the first included, and every hand-written case (``edge-``); all lines
of the files in ``WHOLE``. The same source gives the same bytes.
"""

import gzip
import json
import sys
from pathlib import Path

from tests.conformance.suite import files, lines

EVERY = 10
WHOLE = frozenset({"addon_template.jsonl.gz", "calendar.jsonl.gz"})


def sample(path: Path) -> list[str]:
    return [
        line
        for number, line in enumerate(lines(path))
        if number % EVERY == 0 or path.name in WHOLE or json.loads(line)["id"].startswith("edge-")
    ]


def pack(text: list[str], path: Path) -> None:
    with path.open("wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as packed:
        packed.write("".join(text).encode())


def main(source: Path, target: Path) -> None:
    target.mkdir(parents=True, exist_ok=True)
    for name, path in files(source).items():
        kept = sample(path)
        pack(kept, target / f"{name}.jsonl.gz")
        print(f"{name}: {len(kept)} kept")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:3]))
