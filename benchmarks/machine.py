"""On what machine was it measured, with what programs, and who else used it meanwhile?"""

import os
import platform
import resource
import subprocess
from pathlib import Path
from typing import Any

from rollout import __version__

_ROOT = Path(__file__).parents[1]
_TICKS = os.sysconf("SC_CLK_TCK")


def hardware() -> dict[str, Any]:
    """Processor, cores and memory."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memoryGiB": round(memory / 1024**3, 1),
    }


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return value.strip()
    return platform.machine()


def versions(programs: Path | None = None) -> dict[str, str]:
    """Of everything that takes part. ``programs``: the folder of kube-apiserver and etcd."""
    found = {
        "rollout": __version__,
        "commit": _first_line("git", "-C", str(_ROOT), "describe", "--always", "--dirty"),
        "python": platform.python_version(),
        "kernel": platform.release(),
    }
    for name in ("kube-apiserver", "etcd") if programs else ():
        found[name] = _first_line(f"{programs}/{name}", "--version")
    return found


def _first_line(*command: str) -> str:
    try:
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return next(iter(ran.stdout.splitlines()), "").strip()


def peak_memory() -> float:
    """The most MB that this program has had. `ru_maxrss` begins with what its parent had."""
    for line in Path("/proc/self/status").read_text().splitlines():
        name, _, value = line.partition(":")
        if name == "VmHWM":
            return int(value.split()[0]) / 1024
    raise OSError("/proc/self/status has no VmHWM")


class Others:
    """How many cores programs that have no part in a run kept busy, from its making on.

    To be asked when all programs of the run have ended: only then are they known as ours.
    """

    def __init__(self) -> None:
        self._busy, self._own, self._began = _busy(), _own(), _uptime()

    def cores(self) -> float:
        others = (_busy() - self._busy) - (_own() - self._own)
        return max(others, 0.0) / (_uptime() - self._began)


def _busy() -> float:
    """CPU seconds of the whole machine: user, nice, system, irq, softirq of proc(5)."""
    fields = Path("/proc/stat").read_text().split(maxsplit=9)
    return sum(int(fields[place]) for place in (1, 2, 3, 6, 7)) / _TICKS


def _own() -> float:
    """CPU seconds of this process, and of its children that have ended."""
    whose = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(u.ru_utime + u.ru_stime for u in map(resource.getrusage, whose))


def _uptime() -> float:
    return float(Path("/proc/uptime").read_text().split()[0])
