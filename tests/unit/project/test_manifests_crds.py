"""The files in manifests/crds are what the models give."""

from pathlib import Path

import yaml

from rollout.api.crds import crd, crd_files, write_crds
from rollout.api.models import MODELS
from rollout.model.kinds import KINDS

FOLDER = Path(__file__).parents[3] / "manifests" / "crds"
OTHERS = {"Kustomization", "kustomization.yaml"}


def test_the_files_are_those_that_make_crds_writes() -> None:
    paths = [p for p in FOLDER.rglob("*") if p.is_file() and p.name not in OTHERS]
    found = {p.relative_to(FOLDER).as_posix(): p.read_text() for p in paths}

    assert found == crd_files(), "run `make crds`"


def test_each_file_says_what_the_model_says() -> None:
    parsed = [yaml.safe_load(text) for text in crd_files().values()]

    assert parsed == [crd(KINDS[name]) for name in MODELS]


def test_files_of_kinds_that_are_no_more_are_removed_and_others_left_alone(tmp_path: Path) -> None:
    old = tmp_path / "work.open-cluster-management.io_oldkinds.yaml"
    mine = tmp_path / "kustomization.yaml"
    old.write_text("old")
    mine.write_text("mine")

    written = write_crds(tmp_path)

    assert not old.exists()
    assert mine.read_text() == "mine"
    assert {path.relative_to(tmp_path).as_posix() for path in written} == set(crd_files())
