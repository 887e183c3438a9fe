"""Finds the files that come with the package, such as manifests and the example of `rollout demo`.

In an installed package they lie beside its modules; in a checkout, where people edit them.
"""

from pathlib import Path

_PACKAGE = Path(__file__).parent


def shipped(name: str) -> Path:
    """The folder ``name`` (``manifests``, ``examples/canary``) as it came with this package."""
    installed = _PACKAGE / "files" / name
    return installed if installed.is_dir() else _PACKAGE.parent / name
