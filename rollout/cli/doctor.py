"""Is this hub fit for a controller? `rollout doctor` looks, and says what to do."""

import json
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

import click

from rollout.cli.contention import check_gates, check_leases, check_records, check_writers
from rollout.cli.diagnosis import Finding, Level, Send, check_kinds
from rollout.cli.leaving import leave
from rollout.cli.options import Stop, options, was_typed
from rollout.cli.rights import check_configurations, check_executors, check_permissions
from rollout.cli.setting_options import given
from rollout.cli.text import put, say
from rollout.clock import CLOCK_TOLERANCE, HubClock, SystemClock
from rollout.errors import ConfigError, HubError, Invalid, Unavailable
from rollout.model.kinds import LEASE, Ref, key_of
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
    clock = HubClock()
    access = Access(asked.kubeconfig or None, asked.context or None)
    hub = KubeHub(access, patience=1.0, heard=clock.heard)
    try:
        if leaves:
            lease = Ref(LEASE, key_of(namespace, chosen.lease_name))
            return leave(hub, lease, SystemClock().now(), dry_run=dry_run, output=output)
        found = list(examine(hub.send, chosen, namespace, account, SystemClock().now()))
        return report([*found, *check_clock(clock.own_error())], output)
    finally:
        hub.close()


def meant(typed: Mapping[str, Any]) -> Settings:
    """The settings of the controller that somebody asks about. Raises: ConfigError."""
    schedules = typed.get("schedule_placements", True)
    return settings({"keep_sets": schedules, "roll_addons": schedules, **typed})


def examine(
    send: Send, chosen: Settings, namespace: str, account: str, now: datetime
) -> Iterator[Finding]:
    """All findings. A check that cannot be made is a finding too.

    Args:
        chosen: the settings of the controller.
        namespace: where the lease lies.
        account: the service account ``ns/name`` that it runs as; "" for whoever asks.
    """
    for sentence in raised(chosen):
        yield Finding("settings", Level.NOTE, sentence, "set what is meant, at least as long")
    addons = chosen.roll_addons
    checks: tuple[tuple[str, Callable[[], Iterator[Finding]]], ...] = (
        ("kinds", lambda: check_kinds(send, addons=addons)),
        ("permissions", lambda: check_permissions(send, needed(chosen), namespace, account)),
        (
            "permissions",
            lambda: check_configurations(send, account) if addons else iter(()),
        ),
        ("permissions", lambda: check_executors(send, account)),
        ("leader", lambda: check_leases(send, namespace, chosen.lease_name, now)),
        ("second controller", lambda: check_writers(send, now, addons=addons)),
        ("second controller", lambda: check_gates(send, addons=addons)),
        ("records", lambda: check_records(send)),
    )
    for name, check in checks:
        try:
            yield from check()
        except Unavailable as error:
            fix = "see that the API server can be reached with this kubeconfig"
            yield Finding(name, Level.PROBLEM, str(error), fix)
            return
        except (HubError, ConfigError, Invalid) as error:
            yield Finding(name, Level.NOTE, f"could not be looked at: {error}", "")


def check_clock(error: timedelta | None) -> Iterator[Finding]:
    """Does this machine's clock agree with the API server's? None: the server told no time."""
    if error is None:
        return
    seconds = error.total_seconds()
    if abs(error) <= CLOCK_TOLERANCE:
        yield Finding(
            "clock", Level.OK, f"this machine's clock is {seconds:+.1f} s off the server's"
        )
    else:
        yield Finding(
            "clock",
            Level.PROBLEM,
            f"this machine's clock is {seconds:+.1f} s off the API server's; the controller goes by"
            " the server's",
            "set the clocks of the machines that run the API server and the controller (NTP)",
        )


def report(found: list[Finding], output: str) -> int:
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
