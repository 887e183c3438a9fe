"""Imports of the official client what a hub needs, and the rest of it when somebody asks for that.

The package `kubernetes` imports its synchronous client, with urllib3, requests and oauthlib: 260
modules that no process here uses (docs/adr/0051).
"""

import sys
from importlib import import_module
from importlib.util import find_spec, module_from_spec


def _put_off(package: str) -> None:
    """Import each module of ``package`` when it is asked for, and run its own code for any other name.

    So whoever imports it besides, a plugin or a program that embeds this, finds in it what is there
    always.
    """
    spec = find_spec(package)
    if package in sys.modules or spec is None or spec.loader is None:
        return
    module, loader = module_from_spec(spec), spec.loader

    def look_up(name: str) -> object:
        if find_spec(f"{package}.{name}") is not None:
            return import_module(f"{package}.{name}")
        del vars(module)["__getattr__"]
        loader.exec_module(module)
        return getattr(module, name)

    vars(module)["__getattr__"] = look_up
    sys.modules[package] = module
    parent, _, own = package.rpartition(".")
    if parent:
        setattr(sys.modules[parent], own, module)


_put_off("kubernetes")
_put_off("kubernetes.aio")

from kubernetes.aio import client, config  # noqa: E402  (what is above has to come first)

__all__ = ["client", "config"]
