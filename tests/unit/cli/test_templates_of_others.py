"""Templates of another tool in files are read as they are: by every verb, as on a hub."""

from pathlib import Path

import pytest
import yaml

from rollout.analysis.snapshot import everything
from rollout.clock import VirtualClock
from rollout.hub.base import Listing
from rollout.hub.memory import MemoryHub
from rollout.model import names
from rollout.model.kinds import (
    ANALYSIS_TEMPLATE,
    REPLICA_SET,
    ROLLOUT_ANALYSIS,
    TEMPLATES_OF_OTHERS,
    Kind,
    Obj,
    ref_of,
)
from tests.support import make
from tests.support.shapes import run
from tests.support.story import T0

EXAMPLE = "examples/analysis"
TEMPLATES = yaml.safe_load(
    (Path(__file__).parent.parent / "api" / "analysis_templates.yaml").read_text()
)


def template(kind: str, spec: object, **meta: str) -> Obj:
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": kind,
        "metadata": {"name": "theirs"} | meta,
        "spec": spec,
    }


def theirs(title: str) -> object:
    (found,) = [each["spec"] for each in TEMPLATES if each["title"] == title]
    return found


def files(folder: Path, *documents: object) -> str:
    """The example, whose workload names another tool's template now."""
    text = Path(EXAMPLE, "rollout.yaml").read_text().replace("analysis: slo", "analysis: theirs")
    assert "theirs" in text
    (folder / "rollout.yaml").write_text(text)
    (folder / "templates.yaml").write_text(yaml.safe_dump_all(documents))
    return str(folder)


GOOD = theirs("success rate by Prometheus")
REFUSED = next(each for each in TEMPLATES if "refused" in each)


@pytest.mark.parametrize("kind", ["AnalysisTemplate", "ClusterAnalysisTemplate"])
def test_every_verb_reads_them(kind: str, tmp_path: Path) -> None:
    paths = ("-f", files(tmp_path, template(kind, GOOD)), "-f", f"{EXAMPLE}/agents.yaml")
    state = tmp_path / "fleet.db"

    checked = run("validate", *paths, "--strict", state=None)
    planned = run("plan", *paths, state=None)
    simulated = run("simulate", *paths, state=None)
    ran = run("run", *paths, "--clock", "virtual", state=state)

    assert "0 errors, 0 warnings" in checked.stdout, checked.output
    assert "Misconfigured" not in planned.output + simulated.output + ran.output
    assert planned.exit_code == 10
    assert "will not finish" not in planned.stdout
    assert simulated.exit_code == 0
    assert "theirs" in run("get", kind, state=state).stdout
    assert "Successful" in run("get", "rolloutanalysisruns", state=state).stdout
    assert "Misconfigured" not in run("explain", "mwrs", "shop", state=state).stdout


def test_every_documented_template_can_stand_in_a_file(tmp_path: Path) -> None:
    found = [
        template("AnalysisTemplate", each["spec"], name=f"t{i}") for i, each in enumerate(TEMPLATES)
    ]
    (tmp_path / "all.yaml").write_text(yaml.safe_dump_all(found))

    checked = run("validate", "-f", str(tmp_path), state=None)

    assert len(found) >= 20
    assert checked.exit_code == 0, checked.output
    assert f"{len(found)} objects: 0 errors, 0 warnings" in checked.stdout
    assert "a workload that names it would be held" in checked.stdout


def test_a_field_that_is_not_served_is_an_error_where_a_workload_names_the_template(
    tmp_path: Path,
) -> None:
    path = files(tmp_path, template("AnalysisTemplate", REFUSED["spec"]))

    checked = run("validate", "-f", path, state=None)
    planned = run("plan", "-f", path, state=None)

    assert checked.exit_code == 1
    assert REFUSED["refused"] in checked.stdout
    assert "default/shop is held" in checked.stdout
    assert "Misconfigured" in planned.stdout


class Asked:
    """A hub, and the kinds that were listed on it."""

    def __init__(self, hub: MemoryHub) -> None:
        self.hub, self.kinds = hub, set[Kind]()

    def list(self, kind: Kind) -> Listing:
        self.kinds.add(kind)
        return self.hub.list(kind)


def test_they_are_listed_only_while_a_workload_names_one_that_is_none_of_ours() -> None:
    hub = MemoryHub(VirtualClock(T0))
    asked = Asked(hub)
    web = make.workload(annotations={names.CLUSTER_ANALYSIS: "slo"})
    other = template("AnalysisTemplate", GOOD, name="slo", namespace="default")
    hub.create(ref_of(ANALYSIS_TEMPLATE, other), other)

    everything(asked)
    assert not asked.kinds & TEMPLATES_OF_OTHERS
    hub.create(ref_of(REPLICA_SET, web), web)
    assert ref_of(ANALYSIS_TEMPLATE, other) in everything(asked)
    ours = {**other, "apiVersion": ROLLOUT_ANALYSIS.api_version, "kind": ROLLOUT_ANALYSIS.name}
    hub.create(ref_of(ROLLOUT_ANALYSIS, ours), ours)
    asked.kinds.clear()
    everything(asked)
    assert not asked.kinds & TEMPLATES_OF_OTHERS
