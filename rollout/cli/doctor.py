"""`rollout doctor`: checks whether a hub is fit for a controller."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

import click

from rollout.analysis.snapshot import stored
from rollout.cli.contention import check_feature_gates, check_leases, check_records, check_writers
from rollout.cli.diagnosis import CheckResult, Level, Send, check_kinds, check_published
from rollout.cli.leases import leader
from rollout.cli.options import Stop, options, was_typed
from rollout.cli.rights import check_configurations, check_executors, check_permissions
from rollout.cli.server_clock import VERSION_PATH, ServerClock
from rollout.cli.setting_options import given
from rollout.cli.text import put, say
from rollout.clock import CLOCK_TOLERANCE
from rollout.errors import ConfigError, HubError, Invalid, Unavailable
from rollout.hub.base import Hub
from rollout.model.kinds import LEASE, Ref, key_of, ref_of
from rollout.model.names import PROFILE_LABEL
from rollout.operate.leaving import KeptObjects, Leftover, remains, stays, take_out
from rollout.runtime.permissions import needed
from rollout.settings import Settings, raised, settings

SIGNS = {Level.OK: "✔", Level.NOTE: "·", Level.PROBLEM: "✖"}


def doctor(
    namespace: str, account: str, leaves: bool, dry_run: bool, output: str, **values: Any
) -> int:
    """Look at a hub."""
    # Here, since nobody who asks for help should wait for them.
    from rollout.hub.kube import KubeHub  # noqa: PLC0415
    from rollout.hub.kube_access import Access  # noqa: PLC0415

    asked = options()
    if was_typed("state"):
        raise Stop(2, "a state file has no permissions and no second controller: give --kubeconfig")
    if account and account.count("/") != 1:
        raise click.UsageError(f"--service-account {account}: write NAMESPACE/NAME")
    if dry_run and not leaves:
        raise click.UsageError("--dry-run belongs to --leave: looking alone changes nothing")
    chosen = meant(given(values))
    clock = ServerClock(lambda: hub.send("GET", VERSION_PATH))
    access = Access(asked.kubeconfig or None, asked.context or None)
    hub = KubeHub(access, patience=1.0, heard=clock.heard)
    try:
        if leaves:
            lease = Ref(LEASE, key_of(namespace, chosen.lease_name))
            return leave(hub, lease, clock.now(), dry_run=dry_run, output=output)
        found = list(examine(hub.send, chosen, namespace, account, now=clock.now()))
        return report([*found, *check_clock(clock.own_error())], output)
    finally:
        hub.close()


def meant(typed: Mapping[str, Any]) -> Settings:
    """The settings of the controller that somebody asks about. Raises: ConfigError."""
    schedules = typed.get("schedule_placements", True)
    return settings({"keep_sets": schedules, "roll_addons": schedules, **typed})


def examine(
    send: Send, chosen: Settings, namespace: str, account: str, now: datetime
) -> Iterator[CheckResult]:
    """All findings. A check that cannot be made is a finding too.

    Args:
        chosen: the settings of the controller.
        namespace: where the lease lies.
        account: the service account ``ns/name`` that it runs as; "" for whoever asks.
    """
    for sentence in raised(chosen):
        yield CheckResult("settings", Level.NOTE, sentence, "set what is meant, at least as long")
    addons = chosen.roll_addons
    checks: tuple[tuple[str, Callable[[], Iterator[CheckResult]]], ...] = (
        ("kinds", lambda: check_kinds(send, addons=addons)),
        ("kinds", lambda: check_published(send, chosen.published)),
        ("permissions", lambda: check_permissions(send, needed(chosen), namespace, account)),
        (
            "permissions",
            lambda: check_configurations(send, account) if addons else iter(()),
        ),
        ("permissions", lambda: check_executors(send, account)),
        ("leader", lambda: check_leases(send, namespace, chosen.lease_name, now)),
        ("second controller", lambda: check_writers(send, now, addons=addons)),
        ("second controller", lambda: check_feature_gates(send, addons=addons)),
        ("records", lambda: check_records(send)),
    )
    for name, check in checks:
        try:
            yield from check()
        except Unavailable as error:
            fix = "see that the API server can be reached with this kubeconfig"
            yield CheckResult(name, Level.PROBLEM, str(error), fix)
            return
        except (HubError, ConfigError, Invalid) as error:
            yield CheckResult(name, Level.NOTE, f"could not be looked at: {error}", "")


def check_clock(error: timedelta | None) -> Iterator[CheckResult]:
    """Does this machine's clock agree with the API server's? None: the server told no time."""
    if error is None:
        return
    seconds = error.total_seconds()
    if abs(error) <= CLOCK_TOLERANCE:
        yield CheckResult(
            "clock", Level.OK, f"this machine's clock is {seconds:+.1f} s off the server's"
        )
    else:
        yield CheckResult(
            "clock",
            Level.PROBLEM,
            f"this machine's clock is {seconds:+.1f} s off the API server's; the controller goes by"
            " the server's",
            "set the clocks of the machines that run the API server and the controller (NTP)",
        )


def report(found: list[CheckResult], output: str) -> int:
    """Print the findings. Returns: the exit code."""
    problems = sum(finding.level is Level.PROBLEM for finding in found)
    if output == "json":
        put(
            json.dumps(
                {
                    "problems": problems,
                    "findings": [
                        {"check": f.check, "level": f.level.value, "what": f.what, "fix": f.fix}
                        for f in found
                    ],
                },
                indent=2,
                ensure_ascii=False,
            )
        )
        return int(problems > 0)
    for finding in found:
        say(f"{SIGNS[finding.level]} {finding.check}: {finding.what}")
        if finding.fix and finding.level is not Level.OK:
            say(f"    {finding.fix}")
    return int(problems > 0)


EVERY = 100
"""After so many objects it is said how far it is."""


def leave(hub: Hub, lease: Ref, now: datetime, *, dry_run: bool, output: str) -> int:
    """Take our conditions out of all statuses, and say what else of ours there is.

    Raises: Stop where a controller, or one of its shards, still leads, since it would write them again; HubError.
    """
    leads = list(_leads(hub, lease, now))
    if leads and not dry_run:
        raise Stop(1, f"{', '.join(leads)}: end the controller first, it would write them again")
    found = list(remains(hub))
    kept = list(stays(hub))
    taken: list[Leftover] = []
    for number, left in enumerate(found, 1):
        if dry_run or take_out(hub, left):
            taken.append(left)
        if not dry_run and number % EVERY == 0:
            say(f"{number} of {len(found)}", err=True)
    if output == "json":
        put(json.dumps(_wire(taken, kept, dry_run=dry_run), indent=2))
    else:
        for line in _lines(taken, kept, dry_run=dry_run):
            say(line)
    return 0


def _leads(hub: Hub, lease: Ref, now: datetime) -> Iterator[str]:
    """Who of ours leads, and by which Lease: this one, or one that says that it is of ours.

    Each shard has a Lease of its own, and a controller in another namespace has one, too.
    """
    for obj in stored(hub, LEASE):
        ref = ref_of(LEASE, obj)
        is_ours = ref == lease or PROFILE_LABEL in (obj["metadata"].get("labels") or {})
        if is_ours and (holder := leader(obj, now)):
            yield f"{holder} leads by {ref}"


def _lines(
    taken: Iterable[Leftover], kept: Iterable[KeptObjects], *, dry_run: bool
) -> Iterable[str]:
    done = "would be taken out" if dry_run else "taken out"
    count = 0
    for count, left in enumerate(taken, 1):  # noqa: B007  (counted)
        yield f"{left.ref}: {', '.join(left.parts)} {done}"
    yield f"{count} statuses {'would be' if dry_run else 'were'} changed"
    for each in kept:
        yield (
            f"{each.count} {each.kind.plural} stay: they go with their workloads, or with "
            f"`kubectl delete {each.kind.plural}.{each.kind.group} -A --all`"
        )


def _wire(taken: Iterable[Leftover], kept: Iterable[KeptObjects], *, dry_run: bool) -> object:
    return {
        "dryRun": dry_run,
        "changed": [
            {"kind": each.ref.kind.name, "key": each.ref.key, "parts": list(each.parts)}
            for each in taken
        ],
        "stay": [{"kind": each.kind.name, "count": each.count} for each in kept],
    }
