"""Kubernetes adds the rules of a ClusterRole with a certain label to `edit`, `admin` or `view`. None of ours has it."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from rollout.model.kinds import Obj

ROOT = Path(__file__).parents[3]
SHIPPED = ("manifests", "charts", "examples")
ROLES = ROOT / "examples" / "operate" / "roles.yaml"
LABEL = re.compile(r"aggregat(e-to-|ionRule)", re.IGNORECASE)
"""The label ``rbac.authorization.k8s.io/aggregate-to-...``, and the field of roles that gather by labels."""


def files() -> Iterator[Path]:
    """Whatever is installed, also templates of Helm, which are no YAML."""
    for name in SHIPPED:
        yield from (path for path in sorted((ROOT / name).rglob("*")) if path.is_file())


def cluster_roles(path: Path) -> list[Obj]:
    objects = yaml.safe_load_all(path.read_text())
    return [obj for obj in objects if isinstance(obj, dict) and obj.get("kind") == "ClusterRole"]


def aggregates(role: Obj) -> bool:
    return bool(LABEL.search(str([role["metadata"].get("labels"), *role])))


@pytest.mark.parametrize(
    "path",
    [*sorted((ROOT / "manifests").rglob("rbac.yaml")), ROLES],
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_no_cluster_role_is_added_to_edit_admin_or_view(path: Path) -> None:
    roles = cluster_roles(path)

    assert roles
    assert [role["metadata"]["name"] for role in roles if aggregates(role)] == []


def test_no_file_that_is_installed_speaks_of_aggregation() -> None:
    """Neither a template of the chart nor a patch of a kustomization brings the label by another way."""
    assert [path for path in files() if LABEL.search(path.read_text(errors="replace"))] == []
    kinds = [path for path in files() if "kind: ClusterRole\n" in path.read_text(errors="replace")]
    assert ROLES in kinds
    assert len(kinds) > 5


@pytest.mark.parametrize(
    "more",
    [
        {
            "metadata": {
                "name": "r",
                "labels": {"rbac.authorization.k8s.io/aggregate-to-edit": "true"},
            }
        },
        {"aggregationRule": {"clusterRoleSelectors": []}},
    ],
    ids=["adds", "gathers"],
)
def test_a_role_that_adds_to_another_or_gathers_others_would_be_seen(more: Obj) -> None:
    assert aggregates({"kind": "ClusterRole", "metadata": {"name": "r"}, "rules": [], **more})
