"""What do tenants and agents write that is not theirs? Pages of the record, revisions, owners of works (S18).

One method per verb of a script. Nobody but the controller's account may write most of it; that it is put back
all the same is what is shown.
"""

import json
from random import Random
from typing import Any

from rollout.hub.base import Hub
from rollout.model import names
from rollout.model.kinds import (
    ROLLOUT_RECORD,
    ROLLOUT_REVISION,
    Kind,
    Obj,
    Ref,
    ref_of,
)

HEAD, CLUSTERS = "head.json", "clusters.json"
LONG_AGO = "2030-01-01T00:00:00.000000Z"
SOAKED = {"touchedAt": LONG_AGO, "health": "Succeeded", "since": LONG_AGO, "verdict": "Soaked"}


class Tenants:
    """``clusters``: of the fleet."""

    def __init__(self, hub: Hub, clusters: tuple[str, ...], dice: Random) -> None:
        self._hub, self._clusters, self._dice = hub, clusters, dice

    def do_edit_record(self) -> None:
        """Somebody writes into a page that its clusters, or all of them, have soaked."""
        page = self._any(ROLLOUT_RECORD)
        if page is None:
            return
        revision = self._revision()
        known = _loads(page, CLUSTERS)
        forged = {cluster: {**line, "verdict": "Soaked"} for cluster, line in known.items()}
        if not known or self._dice.random() < 0.3:
            more = self._dice.sample(self._clusters, min(3, len(self._clusters)))
            forged |= {cluster: {**SOAKED, "revision": revision} for cluster in more}
        key = CLUSTERS if self._dice.random() < 0.9 else "notes"
        self._hub.patch(ref_of(ROLLOUT_RECORD, page), {"data": {key: json.dumps(forged)}})

    def do_edit_head(self) -> None:
        """Somebody writes into the first page that all stages have passed, all gates are open, nobody was removed
        and nothing is taken back; or that everything is.
        """
        page = next(iter(self._heads()), None)
        if page is None:
            return
        head = _loads(page, HEAD)
        keys = ["canary/0", "early/0", "rest", "all", "/0", "/1"]
        gates = ["before:rest", "after:canary at canary/0", "before:* at rest", "after:* at rest"]
        back = {"revision": head.get("revision"), "cause": "Undo", "began": LONG_AGO, "to": ""}
        forged: Obj = self._dice.choice(
            (
                {"passed": keys, "opened": gates, "removals": [], "outages": []},
                {"rollback": back},
                {"rollback": None, "completed": True},
            )
        )
        changes = {"data": {HEAD: json.dumps({**head, **forged})}}
        self._hub.patch(ref_of(ROLLOUT_RECORD, page), changes)

    def do_strip_record(self) -> None:
        """Somebody takes a page away from its workload, or its names from it."""
        page = self._any(ROLLOUT_RECORD)
        if page is None:
            return
        other = [{**each, "uid": "another"} for each in page["metadata"]["ownerReferences"]]
        changes = self._dice.choice(
            (
                {"annotations": None},
                {"labels": None},
                {"ownerReferences": None},
                {"ownerReferences": other},
                {"annotations": {names.RECORD_PLACEMENT: "another"}},
            )
        )
        self._hub.patch(ref_of(ROLLOUT_RECORD, page), {"metadata": changes})

    def do_plant_page(self) -> None:
        """Somebody makes a page more, of clusters that are said to have soaked."""
        page = self._any(ROLLOUT_RECORD)
        if page is None:
            return
        meta = page["metadata"]
        name = f"{meta['name'].rpartition('-')[0]}-{self._dice.randrange(2, 9)}"
        lines = {c: {**SOAKED, "revision": self._revision()} for c in self._clusters}
        kept = {k: meta[k] for k in ("labels", "annotations", "ownerReferences") if k in meta}
        body = {
            **{k: page[k] for k in ("apiVersion", "kind")},
            "metadata": {"name": name, "namespace": meta["namespace"], **kept},
            "data": {CLUSTERS: json.dumps(lines)},
        }
        self._hub.create(Ref(ROLLOUT_RECORD, f"{meta['namespace']}/{name}"), body)

    def do_remove_record(self) -> None:
        """Somebody deletes a page of the record under a running leader."""
        page = self._any(ROLLOUT_RECORD)
        if page is not None:
            self._hub.delete(ref_of(ROLLOUT_RECORD, page))

    def do_leave_clusters(self) -> None:
        """Somebody writes into the first page, while no process lives, as if it had clusters."""
        for page in self._heads():
            self._hub.patch(ref_of(ROLLOUT_RECORD, page), {"data": {CLUSTERS: "{}"}})

    def do_disown_record(self) -> None:
        """Somebody gives the pages to another object, while no process lives."""
        for page in self._all(ROLLOUT_RECORD):
            held = page["metadata"].get("ownerReferences") or ()
            other = [{**each, "uid": "another"} for each in held]
            owners = other if self._dice.random() < 0.5 else None
            changes = {"metadata": {"ownerReferences": owners}}
            self._hub.patch(ref_of(ROLLOUT_RECORD, page), changes)

    def do_forge_revision(self) -> None:
        """Somebody puts another template under the name of one that was rolled out, or takes it away."""
        kept = self._any(ROLLOUT_REVISION)
        if kept is None:
            return
        ref = ref_of(ROLLOUT_REVISION, kept)
        if self._dice.random() < 0.3:
            self._hub.delete(ref)
            return
        manifest = {**kept["template"]["workload"]["manifests"][0], "data": {"v": "forged"}}
        self._hub.patch(ref, {"template": {"workload": {"manifests": [manifest]}}})

    # -- how -------------------------------------------------------------------------------------

    def _all(self, kind: Kind) -> list[Obj]:
        return list(self._hub.list(kind).items)

    def _heads(self) -> list[Obj]:
        return [page for page in self._all(ROLLOUT_RECORD) if HEAD in (page.get("data") or {})]

    def _any(self, kind: Kind) -> Obj | None:
        found = self._all(kind)
        return self._dice.choice(found) if found else None

    def _revision(self) -> str:
        """The one that is rolled out, as the record says."""
        heads = (_loads(page, HEAD) for page in self._all(ROLLOUT_RECORD))
        return next((str(h["revision"]) for h in heads if h.get("revision")), "")


def _loads(page: Obj, key: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((page.get("data") or {}).get(key, "{}"))
    return found
