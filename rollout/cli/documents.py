"""Reads the objects of files for a command; a bad object stops the command."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from rollout.cli.options import Stop
from rollout.model.kinds import Ref

if TYPE_CHECKING:
    from rollout.api.file_objects import FileObject


def read_documents(
    paths: Iterable[str], namespace: str = "", *, once: bool = True
) -> list["FileObject"]:
    """Every document of the files, validated, in the order given; scenarios are left out.

    Args:
        paths: files, directories (not what lies in directories below them), ``-`` for stdin.
        namespace: of objects that name none; where it is empty, ``default``. Objects that name
            another than a given one are at fault.
        once: an object that is there twice is at fault, wherever it stands.
    """
    # Here, since nobody who asks for help should wait for the models of all kinds.
    from rollout.api.file_objects import file_objects  # noqa: PLC0415
    from rollout.api.load import load  # noqa: PLC0415

    found = file_objects(load(paths), namespace)
    return _each_once(found) if once else found


def _each_once(documents: list["FileObject"]) -> list["FileObject"]:
    """The documents; those of one object are at fault, since the last one read would win."""
    from rollout.api.load import LoadError  # noqa: PLC0415  (as above)

    sources: dict[Ref, list[str]] = {}
    for each in documents:
        if each.ref is not None:
            sources.setdefault(each.ref, []).append(each.source)
    told = []
    for each in documents:
        here = sources[each.ref] if each.ref is not None else []
        if len(here) > 1:
            others = ", ".join(source for source in here if source != each.source) or here[0]
            fault = (
                f"is in these files more than once (also {others}): keep one; which one counts would "
                "depend on the order in which they are read"
            )
            twice = LoadError(each.source, fault)
            each = replace(each, faults=(*each.faults, twice))  # noqa: PLW2901
        told.append(each)
    return told


def nothing_in(paths: Iterable[str]) -> Stop:
    """Ends a command whose files hold no object."""
    return Stop(1, f"no objects were found in {', '.join(paths)}")


def good_documents(
    paths: Sequence[str], namespace: str, undone: str = "planned"
) -> list["FileObject"]:
    """The documents of the files. Raises: Stop where one is bad, or there is none.

    ``undone`` is the word for what is not done then.
    """
    documents = read_documents(paths, namespace)
    bad = [fault for document in documents for fault in document.complaints]
    if bad:
        raise Stop(1, *bad, f"nothing was {undone}: correct the files first")
    if not documents:
        raise nothing_in(paths)
    return documents
