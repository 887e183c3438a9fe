"""What do the judges forgive? Each place where one favours the engine says so here, and is counted."""

import ast
from collections import Counter
from pathlib import Path

HERE = Path(__file__).parent


def allow(counts: Counter[str], key: str, times: int = 1) -> bool:
    """Something is not judged, or judged by the reading that favours the engine. Returns True."""
    counts[f"allowed.{key}"] += times
    return True


def keys() -> set[str]:
    """All that is ever allowed, by the sources of the judges."""
    found: set[str] = set()
    for path in HERE.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "allow":
                found.add(ast.literal_eval(node.args[1]))
    return found
