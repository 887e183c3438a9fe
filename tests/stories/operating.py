"""What people say to a running rollout, in short: approvals, freezes, and a rollout to say it to."""

from typing import Any

from rollout.model.kinds import APPROVAL, FREEZE, Obj
from tests.support import make
from tests.support.story import Story

BAD_2 = {"manifests": {"path": "data.version", "equals": "2"}, "behaviour": {"outcome": "fail"}}
TWO_AT_ONCE = make.progressive(maxConcurrency=2, progressDeadline="5m", minSuccessTime="1m")


def revision(story: Story) -> str:
    """The revision of the present template, as the status tells it."""
    return str(story.mwrs()["status"]["updateRevision"])


def approval(name: str, rev: str, gate: str = "*", **spec: Any) -> Obj:
    said = {"workload": {"name": "web"}, "revision": rev, "gate": gate, "decision": "Approve"}
    return {
        "apiVersion": APPROVAL.api_version,
        "kind": "Approval",
        "metadata": make.meta(name, "default"),
        "spec": {**said, **spec},
    }


def freeze(name: str = "incident", **spec: Any) -> Obj:
    return {
        "apiVersion": FREEZE.api_version,
        "kind": "Freeze",
        "metadata": make.meta(name),
        "spec": spec,
    }


def rolled_out(clusters: int = 6, annotations: dict[str, str] | None = None, **more: Any) -> Story:
    """Version 1 is everywhere and has soaked; version 2 would fail."""
    workload = make.workload(
        strategy=more.pop("strategy", TWO_AT_ONCE), annotations=annotations or {}
    )
    return Story([*make.fleet(clusters, **more), workload], {"rules": [BAD_2]}).end()
