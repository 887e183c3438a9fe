"""What does the controller under test cost? A process (with all it starts), its CPU and its memory."""

import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

OURS = f"{shlex.quote(sys.executable)} -m rollout controller"
"""Run with its default settings."""
_TICKS = os.sysconf("SC_CLK_TCK")
_ROOT = Path(__file__).parents[2]


class Ended(Exception):
    """The controller is not running any more."""


class Controller:
    """A command started with KUBECONFIG set, in a session of its own. `start` and `stop`, repeatedly."""

    def __init__(self, command: str, kubeconfig: Path, folder: Path) -> None:
        self._command, self._kubeconfig = command, kubeconfig
        self.log = folder / "controller.log"
        self.peak_mb = 0.0  # of all runs
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        env = {
            **{k: v for k, v in os.environ.items() if not k.startswith("ROLLOUT_")},
            "KUBECONFIG": str(self._kubeconfig),
            "ROLLOUT_LISTEN": "127.0.0.1:0",
            "ROLLOUT_HEALTH_LISTEN": "127.0.0.1:0",
            "ROLLOUT_DEBUG_LISTEN": "",
            "PYTHONPATH": str(_ROOT),
        }
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                ["/bin/sh", "-c", f"exec {self._command}"],
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    @property
    def runs(self) -> bool:
        return self._process is not None

    def stop(self, seconds: float = 20) -> None:
        """Gently, so that it lets its lease go."""
        process = self._process
        if process is None:
            return
        self.look()
        self._process = None
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(5)

    def check(self) -> None:
        """Raises: Ended where it has ended without being asked to."""
        if self._process is not None and self._process.poll() is not None:
            tail = self.log.read_text(errors="replace")[-2000:] if self.log.exists() else ""
            raise Ended(f"the controller has ended:\n{tail}")

    def look(self) -> float:
        """Note its memory. Returns: CPU seconds so far. Raises: Ended."""
        process = self._process
        self.check()
        if process is None:
            raise Ended("the controller is not started")
        cpu, kilobytes = 0.0, 0
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                if int(_fields(entry)[3]) != process.pid:  # its session
                    continue
                cpu += cpu_of(entry)
                kilobytes += _peak(entry / "status")
            except (OSError, ValueError):
                continue  # it has just ended
        self.peak_mb = max(self.peak_mb, kilobytes / 1024)
        return cpu


def cpu_of(process: Path) -> float:
    """CPU seconds of a process, and of its children that have ended. Raises: OSError."""
    fields = _fields(process)
    return sum(int(fields[place]) for place in (11, 12, 13, 14)) / _TICKS


def _fields(process: Path) -> list[str]:
    """Those of ``/proc/PID/stat`` after the name, the third of proc(5) first."""
    return (process / "stat").read_text().rpartition(")")[2].split()


def _peak(status: Path) -> int:
    for line in status.read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1])
    return 0
