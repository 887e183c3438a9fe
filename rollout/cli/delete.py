"""`rollout delete`: deletes objects by name or as files name them."""

import click

from rollout.cli.documents import read_documents
from rollout.cli.naming import Target, complete_kind, not_found, targets
from rollout.cli.options import complain, files_option, namespace_option, options, shared
from rollout.cli.store import open_hub
from rollout.cli.text import say
from rollout.errors import Gone, HubError
from rollout.hub.base import EmbeddedHub
from rollout.model.kinds import Ref, full_name
from rollout.operate.applying import in_order


@click.command()
@click.argument(
    "words", metavar="[KIND NAME... | KIND/NAME...]", nargs=-1, shell_complete=complete_kind
)
@files_option(required=False)
@click.option(
    "--ignore-not-found", is_flag=True, help="An object that does not exist is not an error."
)
@namespace_option
@shared
def delete(
    words: tuple[str, ...], paths: tuple[str, ...], ignore_not_found: bool, namespace: str
) -> int:
    """Delete objects, by name or by file.

    Objects of files are deleted in the opposite order of `rollout apply`, workloads first. A
    workload is gone when the engine has removed its ManifestWorks from the clusters.
    """
    if bool(words) == bool(paths):
        raise click.UsageError("give either KIND NAME, or -f PATH")
    code = 0
    refs: list[Ref] = []
    if paths:
        for document in reversed(in_order(read_documents(paths, namespace, once=False))):
            if document.ref is None:
                code = 1
                for fault in document.complaints:
                    complain(fault)
            else:
                refs.append(document.ref)
    else:
        refs = [_ref(target, namespace) for target in targets(words, namespace)]
    with open_hub(options()) as (hub, _):
        for ref in refs:
            code = max(code, _delete(hub, ref, ignore_not_found=ignore_not_found))
    return code


def _ref(target: Target, namespace: str) -> Ref:
    if not target.name:
        raise click.UsageError(
            f"name the {target.kind.plural} to delete: {target.kind.plural} NAME"
        )
    return target.ref(namespace)


def _delete(hub: EmbeddedHub, ref: Ref, *, ignore_not_found: bool) -> int:
    """Delete one object and say so. Returns: the exit code."""
    try:
        hub.delete(ref)
    except Gone:
        if ignore_not_found:
            return 0
        complain(not_found(ref))
        return 1
    except HubError as fault:
        complain(str(fault))
        return 1
    name = full_name(ref.kind, "").rstrip("/")
    try:
        left = hub.get(ref)
    except Gone:
        say(f'{name} "{ref.name}" deleted')
    else:
        waits = ", ".join(left["metadata"].get("finalizers") or ())
        say(f'{name} "{ref.name}" is being deleted (waits for {waits})')
    return 0
