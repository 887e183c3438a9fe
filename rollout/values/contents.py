"""Works out what each cluster of a workload has to carry, with its values.

Rendered once for each cluster, in slices, and again only for the clusters that have changed.
"""

from collections.abc import Callable, Collection, Mapping
from datetime import datetime

from rollout.model.cluster import Cluster
from rollout.model.content import json_hash
from rollout.model.kinds import Obj
from rollout.model.replicaset import ReplicaSet
from rollout.model.waits import Reason, Wait
from rollout.placement.cel.bounds import MOST_STEPS
from rollout.strategies.base import NOTHING_SHUT, Shut
from rollout.values.rendering import Assignment, RenderedContent, Rendering, ValueShown, assigned
from rollout.values.rules import ClusterValues, written_rules

SLICE_STEPS = 20_000
"""Steps of CEL in one turn of the engine: some tens of milliseconds."""
MOST_EARLIER = 4
"""So many changes of a cluster are remembered: an agent may change its claims as often as it likes."""
BYTES_PER_STEP = 50
"""To make a content of so many bytes takes as long as a step."""

Find = Callable[[str], Cluster | None]


class ClusterContents:
    """What each cluster of one workload is to carry. Empty where no values concern the workload.

    ``contents`` and ``unrendered`` are never changed in place.
    """

    def __init__(self) -> None:
        self._made_from: tuple[object, ...] = ()
        self._written: list[Obj] = []
        self._rendering: Rendering | None = None
        self._template: Obj = {}
        self._known: dict[str, RenderedContent | Wait] = {}
        self._stale: set[str] = set()
        self._steps = 0
        self._forget()

    def _forget(self) -> None:
        """No values concern the workload."""
        self.contents: Mapping[str, str] = {}
        self.unrendered: Mapping[str, Wait] = {}
        self._assignments: dict[str, tuple[Assignment, ...]] = {}
        self._source: Obj = {}  # the template that these are put into
        self._clusters: dict[str, Cluster] = {}  # as they were rendered last
        self._touched: set[str] = set()  # of these, those that have changed since
        self._earlier: dict[str, list[tuple[datetime, Cluster]]] = {}  # what they were until then
        self._moved: dict[str, datetime] = {}  # whose change makes another content, by these rules
        self._changed: dict[str, datetime] = {}  # when content changed, but not by a new revision
        self._agreed = ""  # the revision that `contents` belong to

    @property
    def problems(self) -> tuple[str, ...]:
        """Why no cluster can be rendered, for the author of the values."""
        return self._rendering.problems if self._rendering is not None else ()

    @property
    def written(self) -> list[Obj]:
        """The rules as they were written, with the names of their objects; none where no values are."""
        return self._written

    @property
    def is_stale(self) -> bool:
        """Whether clusters have changed that are to be rendered again."""
        return bool(self._stale)

    def revision(self, replicaset: ReplicaSet) -> str:
        """The workload's revision: of its template and the rules over it."""
        found = self._rendering
        return found.revision if found is not None else replicaset.template.content

    def touch(self, cluster: str) -> None:
        """Rules may see this cluster otherwise than before."""
        if cluster in self._clusters:
            self._touched.add(cluster)
        if cluster in self._known:
            self._stale.add(cluster)

    def follow(self, replicaset: ReplicaSet, several: tuple[ClusterValues, ...]) -> None:
        """Go by these values and this template from now on."""
        about = {
            "name": replicaset.name,
            "namespace": replicaset.namespace,
            "labels": dict(replicaset.labels),
        }
        template = replicaset.template
        written = written_rules(several)
        # The rules by their hash: to Python a literal 1 is true, and 1 is 1.0.
        made_from = (template.content, json_hash(written), several, about) if several else ()
        if made_from == self._made_from:
            return
        self._made_from, self._template = made_from, template.spec
        self._known.clear()
        self._stale.clear()
        self._steps = 0
        self._written = written
        self._rendering = (
            Rendering(template.spec, template.content, about, several) if several else None
        )

    def render(self, clusters: Collection[str] | None, find: Find, now: datetime) -> bool:
        """Render those of these clusters that are not rendered yet, one slice of them.

        Args:
            clusters: None: the same as before.
        Returns: whether all are; then `contents` and `unrendered` are those of these clusters.
        """
        rendering = self._rendering
        if rendering is None:
            if self._agreed:
                self._forget()
            return True
        if rendering.problems:
            return True
        spent = 0
        for name in sorted(self._stale) if clusters is None else clusters:
            if name in self._known and name not in self._stale:
                continue
            if spent > SLICE_STEPS:
                return False
            spent += self._render(rendering, name, find, now)
        if clusters is not None and self._known.keys() != set(clusters):
            kept = set(clusters)
            self._known = {name: found for name, found in self._known.items() if name in kept}
            self._clusters = {name: c for name, c in self._clusters.items() if name in kept}
            self._earlier = {name: c for name, c in self._earlier.items() if name in kept}
        self._settle(rendering, now)
        return True

    def _render(self, rendering: Rendering, name: str, find: Find, now: datetime) -> int:
        self._stale.discard(name)
        cluster = find(name) or self._clusters.get(name)  # one that is gone keeps what it had
        if cluster is None:
            self._known[name] = Wait(Reason.VALUES_MISSING, f"{name}: there is no ManagedCluster")
            return 1
        if self._steps > MOST_STEPS:
            text = (
                f"{name}: the expressions of this workload's ClusterValues took {self._steps} steps on the "
                f"clusters before this one, and at most {MOST_STEPS} are taken on all: write simpler ones"
            )
            self._known[name] = Wait(Reason.VALUES_INVALID, text)
            return 1
        found, steps, made = rendering.render(cluster)
        was, before = self._known.get(name), self._clusters.get(name)
        if name in self._touched and before is not None:
            earlier = self._earlier.setdefault(name, [])
            earlier.append((now, before))
            del earlier[:-MOST_EARLIER]
            if was is not None and _content(was) != _content(found):
                self._moved[name] = now
        if was is None:  # by rules that are new to it, one of its last changes may count as well
            steps += self._judge_earlier(rendering, name, _content(found))
        self._touched.discard(name)
        self._clusters[name], self._known[name] = cluster, found
        self._steps += steps
        return steps + made // BYTES_PER_STEP

    def _judge_earlier(self, rendering: Rendering, name: str, content: str) -> int:
        """Note when the cluster changed last so that it has this content; the steps that it took."""
        steps = 0
        for at, before in reversed(self._earlier.get(name, ())):
            was, more, _ = rendering.render(before)
            steps += more
            if _content(was) != content:
                self._moved[name] = at
                break
        return steps

    def _settle(self, rendering: Rendering, now: datetime) -> None:
        """Make what is rendered what counts."""
        contents: dict[str, str] = {}
        unrendered: dict[str, Wait] = {}
        self._assignments, self._source = {}, self._template
        for name, found in self._known.items():
            contents[name] = _content(found)
            if isinstance(found, Wait):
                unrendered[name] = found
            else:
                self._assignments[found.content] = found.assignments
        if self._agreed == rendering.revision:
            before = self.contents
            others = (c for c, content in contents.items() if before.get(c, content) != content)
            self._moved = {**dict.fromkeys(others, now), **self._moved}
        self._agreed = rendering.revision
        changed = {**self._changed, **self._moved}
        self._changed = {c: at for c, at in changed.items() if c in contents}
        self._moved.clear()
        rendering.keep(self._assignments)
        if contents != self.contents:
            self.contents = contents
        if unrendered != self.unrendered:
            self.unrendered = dict(sorted(unrendered.items()))
        self._steps = 0

    def settling(self, settled_at: Callable[[datetime], datetime], now: datetime) -> Shut:
        """Clusters of which the content has changed so lately that they are not touched yet.

        Args:
            settled_at: until when what changed at an instant has to stand.
        """
        if not self._changed and not self._earlier:
            return NOTHING_SHUT
        self._earlier = {
            c: several for c, several in self._earlier.items() if settled_at(several[-1][0]) > now
        }
        until = {c: settled_at(at) for c, at in self._changed.items()}
        changed = {c: at for c, at in until.items() if at > now}
        if not changed:
            return NOTHING_SHUT
        waits = {
            cluster: Wait(
                Reason.VALUES_SETTLING,
                f"{cluster}: what is rendered for it has changed, and is to stand for a while",
                at,
            )
            for cluster, at in changed.items()
        }
        return Shut(waits, min(changed.values()))

    def assignments(self, content: str) -> tuple[Assignment, ...] | None:
        """The values that make up a content of now; None where no cluster is to carry that."""
        return self._assignments.get(content)

    def spec(self, content: str) -> Obj | None:
        """The rendered template; None where no cluster is to carry that now."""
        found = self._assignments.get(content)
        return None if found is None else assigned(self._source, found)

    def shown(self, cluster: str) -> tuple[ValueShown, ...]:
        """The values of a cluster and where each comes from, for a person to read; nothing where it
        cannot be rendered.
        """
        seen = self._clusters.get(cluster)
        if self._rendering is None or seen is None or cluster in self.unrendered:
            return ()
        found = self._rendering.shown(seen)
        return () if isinstance(found, Wait) else tuple(found)


def _content(found: RenderedContent | Wait) -> str:
    return found.content if isinstance(found, RenderedContent) else ""
