"""Which objects do these files speak of, for a command? Where one is bad the command stops."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rollout.cli.options import Stop

if TYPE_CHECKING:
    from rollout.api.file_objects import FileObject


def read_documents(paths: Iterable[str], namespace: str = "") -> list["FileObject"]:
    """Every document of the files, validated, in the order given; scenarios are left out.

    Args:
        paths: files, directories (not what lies in directories below them), ``-`` for stdin.
        namespace: of objects that name none; where it is empty, ``default``. Objects that name
            another than a given one are at fault.
    """
    # Here, since nobody who asks for help should wait for the models of all kinds.
    from rollout.api.file_objects import file_objects  # noqa: PLC0415
    from rollout.api.load import load  # noqa: PLC0415

    return file_objects(load(paths), namespace)


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
        raise Stop(1, "no objects were found in the files")
    return documents
