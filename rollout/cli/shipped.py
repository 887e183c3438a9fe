"""`rollout crds` and `rollout manifests`: prints files that come with the package."""

import shutil
from pathlib import Path

import click

from rollout.cli.options import Stop, shared_without_hub
from rollout.cli.text import put, say
from rollout.shipped import shipped


@click.command()
@click.option(
    "--own", is_flag=True, help="Only the kinds of this project, for a hub that has OCM's."
)
@shared_without_hub
def crds(own: bool) -> None:
    """Print the CustomResourceDefinitions that a controller needs, as YAML.

    rollout crds | kubectl apply --server-side -f -
    """
    folder = shipped("manifests/crds")
    paths = sorted((folder / "own" if own else folder).rglob("*.io_*.yaml"))
    put("---\n".join(path.read_text(encoding="utf-8") for path in paths))


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@shared_without_hub
def manifests(folder: Path) -> None:
    """Write the kustomizations of the controller into FOLDER, a new one.

    kubectl apply -k FOLDER/standalone, or FOLDER/on-ocm where OCM is installed.
    """
    copy(shipped("manifests"), folder)
    say(f"wrote {folder}; next: kubectl apply -k {folder / 'standalone'}")


def copy(source: Path, folder: Path) -> None:
    """A copy of files that came with the package. Raises: Stop where ``folder`` is there already."""
    if folder.exists():
        raise Stop(1, f"{folder} already exists: name a new folder")
    shutil.copytree(source, folder)
