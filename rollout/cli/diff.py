"""What would `rollout apply` change in what is stored, field by field? `rollout diff`."""

from rollout.analysis.changes import object_changes
from rollout.analysis.copies import changed
from rollout.cli.documents import good_documents
from rollout.cli.hiding import masks
from rollout.cli.options import options
from rollout.cli.plan import CHANGES, applying, object_lines
from rollout.cli.store import open_hub, show


def diff(paths: tuple[str, ...], namespace: str, show_secrets: bool, output: str) -> int:
    """Compare files with what is stored."""
    documents = good_documents(paths, namespace, "compared")
    with open_hub(options()) as (hub, clock):
        old, new = changed(hub, applying(documents, "compared"), clock.now())
    hidden = None if show_secrets else masks()
    found = object_changes(old, new, hidden, manifests=True)
    show(found, output, object_lines(found, whole=True))
    return CHANGES if found else 0
