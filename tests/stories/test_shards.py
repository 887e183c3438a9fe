"""Several processes share one hub: does each work have one writer, whoever comes, goes or freezes?"""

from collections import defaultdict

import pytest

from rollout.model.kinds import LEASE, MANIFEST_WORK, REPLICA_SET, Obj, Ref
from rollout.model.names import BUCKET_LABEL, SHARDS_LABEL
from rollout.model.sharding import Sharding
from tests.support import make
from tests.support.processes import SEC, Process, World

SPACES = tuple(f"team-{letter}" for letter in "abcdefgh")
CLUSTERS = 6
BASE = Ref(LEASE, "default/rollout-controller")


def documents() -> list[Obj]:
    """One workload in each namespace, all on the same clusters, a third of them at a time."""
    strategy = make.progressive(maxConcurrency=2, minSuccessTime="10s")
    found = make.fleet(CLUSTERS)
    for space in SPACES:
        found += [make.binding(space), make.placement(namespace=space)]
        found.append(make.workload(namespace=space, strategy=strategy))
    return found


def dealt(shards: int) -> dict[int, set[str]]:
    """The namespaces of each shard."""
    found: dict[int, set[str]] = {shard: set() for shard in range(shards)}
    for shard, spaces in found.items():
        share = Sharding(shards=shards, shard=shard, home="default")
        spaces |= {s for s in SPACES if share.concerns(Ref(REPLICA_SET, f"{s}/web"))}
    return found


def start(world: World, shards: int, prefix: str = "p") -> list[Process]:
    return [
        world.start(
            f"{prefix}{shard}", shards=shards, shard=shard, agent_status_interval_seconds=0.05
        )
        for shard in range(shards)
    ]


def works(world: World) -> dict[str, list[Obj]]:
    """By the namespace of their workload."""
    found = defaultdict(list)
    for work in world.hub.list(MANIFEST_WORK).items:
        found[owner_of(work)].append(work)
    return found


def owner_of(work: Obj) -> str:
    """The namespace of its workload."""
    labels = work["metadata"]["labels"]
    return str(labels["work.open-cluster-management.io/manifestworkreplicaset"]).partition(".")[0]


def is_complete(world: World, space: str, version: str = "1") -> bool:
    if any(version_of(work) != version for work in works(world)[space]):
        return False
    status = world.get(REPLICA_SET, f"{space}/web").get("status") or {}
    found = {c["type"]: c["reason"] for c in status.get("conditions") or ()}
    said = status.get("summary") or {}
    return found.get("Progressing") == "Complete" and said.get("updated") == CLUSTERS


def all_complete(world: World, version: str = "1") -> bool:
    """Whether all works carry this version of the template, and all is said to be done."""
    return all(is_complete(world, space, version) for space in SPACES)


def version_of(work: Obj) -> str:
    return str(work["spec"]["workload"]["manifests"][0]["data"]["version"])


def change(world: World, version: str, *spaces: str) -> None:
    for space in spaces or SPACES:
        ref = Ref(REPLICA_SET, f"{space}/web")
        obj = world.hub.get(ref)
        spec = {**obj["spec"], "manifestWorkTemplate": make.template(version)}
        world.hub.replace(ref, {**obj, "spec": spec})


def writers(world: World, since: int = 0) -> dict[str, set[str]]:
    """Who wrote works, by the namespace of the workload."""
    found: dict[str, set[str]] = defaultdict(set)
    for who, event in world.changes[since:]:
        if event.ref.kind is MANIFEST_WORK and who not in ("agents", "people"):
            found[owner_of(event.obj)].add(who)
    return found


def touches(world: World, since: int = 0) -> list[tuple[str, str, int]]:
    """Each new generation of a work: cluster, namespace of the workload, generation."""
    seen: dict[str, int] = {}
    found = []
    for place, (_, event) in enumerate(world.changes):
        if event.ref.kind is not MANIFEST_WORK:
            continue
        generation = event.obj["metadata"]["generation"]
        if seen.get(event.ref.key) != generation and place >= since:
            found.append((event.ref.namespace, owner_of(event.obj), generation))
        seen[event.ref.key] = generation
    return found


def test_each_namespace_has_one_shard_that_writes_and_knows_its_works() -> None:
    world = World(documents())
    processes = start(world, 3)
    world.on(600, lambda: all_complete(world))

    assert all_complete(world)
    mine = dealt(3)
    assert all(mine.values()), "each shard has something to do"
    assert writers(world) == {s: {f"p{i}"} for i, spaces in mine.items() for s in spaces}
    for shard, process in enumerate(processes):
        known = {ref.namespace for ref in process.controller.engine.fleet.rolled_out()}
        assert known == mine[shard]


def test_works_are_labelled_so_that_one_shard_watches_them_and_not_touched_for_it() -> None:
    world = World(documents())
    alone = world.start("alone", agent_status_interval_seconds=0.05)
    world.on(600, lambda: all_complete(world))
    before = {w["metadata"]["uid"]: w["metadata"]["generation"] for w in all_works(world)}
    assert not any(BUCKET_LABEL in w["metadata"]["labels"] for w in all_works(world))

    alone.controller.finish(10 * SEC)
    world.processes.remove(alone)
    processes = start(world, 2)
    world.on(120)

    assert all(BUCKET_LABEL in w["metadata"]["labels"] for w in all_works(world))
    assert {w["metadata"]["uid"]: w["metadata"]["generation"] for w in all_works(world)} == before
    assert [len(p.controller.engine.fleet.versions.known(MANIFEST_WORK)) for p in processes] == [
        len(spaces) * CLUSTERS for spaces in dealt(2).values()
    ]


def all_works(world: World) -> tuple[Obj, ...]:
    return world.hub.list(MANIFEST_WORK).items


def test_a_shard_that_ends_stops_nobody_else_and_its_successor_goes_on() -> None:
    world = World(documents())
    processes = start(world, 3)
    world.on(30)
    processes[1].frozen = True
    others = [s for shard, spaces in dealt(3).items() if shard != 1 for s in spaces]
    world.on(300, lambda: all(is_complete(world, space) for space in others))
    assert all(is_complete(world, space) for space in others)
    assert not any(is_complete(world, space) for space in dealt(3)[1])

    world.start("again", shards=3, shard=1, agent_status_interval_seconds=0.05)
    world.on(600, lambda: all_complete(world))

    assert all_complete(world)
    assert len(touches(world)) == len(SPACES) * CLUSTERS


def redealt(before: int, after: int) -> tuple[World, list[str]]:
    """Shards of another number come, nobody ends the old ones, and the old shard 0 is heard of no more.

    Returns: the world, and what was wrong with it.
    """
    world = World(documents())
    start(world, before, "old")
    world.on(30)
    new = start(world, after, "new")
    world.on(30)
    wrong = [f"{p.me} leads beside the old shard 0" for p in new if p.controller.leads]
    world.processes[0].frozen = True
    world.on(60, lambda: new[0].leads)
    for space in SPACES:  # so that all have something to write, again and again
        change(world, "2", space)
        world.on(1.5)
    world.on(240, lambda: all_complete(world, "2"))
    wrote = [
        who
        for who, event in world.changes
        if event.ref.kind is MANIFEST_WORK and who.startswith(("old", "new"))
    ]
    first = next(i for i, who in enumerate(wrote) if who.startswith("new"))
    wrong += [f"{who} writes beside the new ones" for who in wrote[first:] if who.startswith("old")]
    wrong += [
        f"{space} has more than one shard"
        for space, who in writers(world).items()
        if len({each for each in who if each.startswith("old")}) > 1
        or len({each for each in who if each.startswith("new")}) > 1
    ]
    wrong += [f"{touch} is touched again" for touch in touches(world) if touch[2] > 2]
    return world, wrong


@pytest.mark.parametrize(("before", "after"), [(1, 2), (2, 3), (3, 2), (3, 1)])
def test_s28_another_number_of_shards_begins_when_none_of_the_old_writes_any_more(
    before: int, after: int
) -> None:
    """Nobody ends the old ones: they find out by themselves, and the new ones wait for that."""
    world, wrong = redealt(before, after)

    assert wrong == []
    assert all_complete(world, "2")
    assert [p.me for p in world.processes if p.ended] == [f"old{i}" for i in range(1, before)]
    known = len(world.changes)
    world.processes[0].thaw()
    world.on(60)
    assert not any(who == "old0" for who, _ in world.changes[known:])


def test_a_shard_that_is_frozen_for_the_change_writes_nothing_afterwards() -> None:
    world = World(documents())
    old = start(world, 2, "old")
    world.on(600, lambda: all_complete(world))
    change(world, "2")
    old[1].pipe.stop_before = old[1].pipe.sent + 3  # frozen in the middle of its writes
    world.on(20)
    assert old[1].frozen
    old[0].controller.finish(10 * SEC)
    world.processes.remove(old[0])
    start(world, 3, "new")
    world.on(900, lambda: all_complete(world, "2"))
    assert all_complete(world, "2")

    known = len(world.changes)
    old[1].thaw()
    world.on(60)

    assert old[1].ended
    assert not any(who == "old1" for who, _ in world.changes[known:])
    assert len(touches(world)) == 2 * len(SPACES) * CLUSTERS


@pytest.mark.parametrize("value", [None, "0", "63", "nonsense"])
def test_a_work_whose_label_somebody_edits_is_neither_made_twice_nor_touched(
    value: str | None,
) -> None:
    world = World(documents())
    start(world, 2)
    world.on(600, lambda: all_complete(world))
    count = len(touches(world))
    work = works(world)[SPACES[0]][0]
    ref = Ref(MANIFEST_WORK, f"{work['metadata']['namespace']}/{work['metadata']['name']}")
    label = work["metadata"]["labels"][BUCKET_LABEL]
    world.hub.patch(ref, {"metadata": {"labels": {BUCKET_LABEL: value}}})
    world.on(120)

    assert world.hub.get(ref)["metadata"]["labels"][BUCKET_LABEL] == label
    assert len(touches(world)) == count
    assert is_complete(world, SPACES[0])


def test_a_process_that_waits_for_the_others_says_so() -> None:
    world = World(documents())
    start(world, 2)
    world.on(20)
    stray = world.start("stray", shards=5, shard=3)
    world.on(20)

    assert not stray.leads
    ready = stray.controller.readiness()
    assert not ready.ready
    assert ready.why == (
        "it cannot stand by: Lease default/rollout-controller says 2 shards, and this is one of 5; "
        "it waits for shard 0 of 5"
    )


def test_the_clock_runs_steadily_before_the_wait_of_a_new_number_is_measured() -> None:
    world = World(documents())
    (first, _) = start(world, 2)
    world.on(40, lambda: first.controller.leads)

    assert first.controller.leads
    assert len(first.begun) == 1, "it is settled once, however often the beginning is tried"
    assert first.begun[0] + 15 * SEC <= world.clock.now()


def test_a_hub_that_is_not_shared_has_no_labels_of_shards() -> None:
    world = World(documents())
    world.start("alone")
    world.on(60)

    assert SHARDS_LABEL not in world.hub.get(BASE)["metadata"]["labels"]
    assert not any(BUCKET_LABEL in w["metadata"]["labels"] for w in all_works(world))
