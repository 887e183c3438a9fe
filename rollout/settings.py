"""The settings of a controller: each with its unit in its name, its default, and why.

Each is a flag of `rollout controller` (``settle_seconds`` is ``--settle-seconds``) and an environment
variable (``ROLLOUT_SETTLE_SECONDS``); the flag wins.
"""

import re
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from rollout.api.words import problems_of
from rollout.errors import ConfigError
from rollout.model.kinds import CLUSTER_PROFILE, SHARED_DECISION, Kind
from rollout.model.sharding import ALONE, MOST_SHARDS, Sharding

Seconds = Annotated[float, Field(gt=0, le=86_400, allow_inf_nan=False)]
_ADDRESS = re.compile(r"\A(?:\[([0-9a-fA-F:]+)\]|([^\[\]:]*)):([0-9]{1,5})\Z")


class Settings(BaseModel):
    """All settings of a controller. The description of each field is its help text."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    # What it decides, and how.
    profile: Literal["strict", "ocm"] = Field(
        "strict",
        description="Which rules decide if an object does not say: strict (the API's meaning, made"
        " safe) or ocm (bit for bit what OCM's own code returns).",
    )
    schedule_placements: bool = Field(
        True, description="Decide Placements. Off where OCM's placement controller does."
    )
    keep_sets: bool = Field(
        True,
        description="Keep the sets default and global, and the status of sets and bindings. Off"
        " where OCM's registration controller does.",
    )
    roll_addons: bool = Field(
        True,
        description="Install add-ons and roll their configurations out, where the hub has their"
        " definitions. Off where OCM's add-on manager does: it has the definitions too.",
    )
    publish_decisions: bool = Field(
        False,
        description="Publish each PlacementDecision as one of SIG Multicluster too"
        " (multicluster.x-k8s.io), for tools that read those.",
    )
    publish_clusters: bool = Field(
        False,
        description="Publish a ClusterProfile for each cluster that a decision of the namespace names."
        " Off where OCM's registration controller does.",
    )
    watch_health: bool = Field(
        False,
        description="Turn silent clusters into conditions and taints. Off where OCM's registration"
        " controller does, and where no agent renews a lease.",
    )
    filters: str = Field(
        "", description="Filter plugins to run besides the built-in ones, by name, with commas."
    )
    measure_hosts: str = Field(
        "",
        description="Hosts that may be asked for metrics, as patterns with commas; all where empty."
        " Loopback addresses have to be named, link-local addresses are never asked.",
    )
    notify_hosts: str = Field(
        "",
        description="Hosts to which notifications may be sent, in the same way.",
    )
    failure_grace_seconds: Seconds = Field(
        60,
        description="A failure that stands for this long counts: shorter ones are start-up noise.",
    )
    settle_seconds: Seconds = Field(
        19,
        description="Success by condition rules counts after this long: agents can stamp an old"
        " evaluation with a new generation.",
    )
    agent_status_interval_seconds: float = Field(
        10,
        ge=0.05,  # a Klusterlet takes 5 and more; agents of tests look more often
        le=3600,
        allow_inf_nan=False,
        description="The longest status sync interval of any work agent (statusSyncInterval of its"
        " Klusterlet). An agent looks at an object again after up to 1.9 times this, so settle and"
        " failure grace are raised to that where they are shorter.",
    )
    values_settle_seconds: Seconds = Field(
        60,
        description="What ClusterValues render for a cluster has to stay the same for this long before"
        " the cluster gets it: labels can flap.",
    )
    quiet_seconds: Seconds = Field(
        10,
        description="Decisions written by others must stand still for this long before a cluster"
        " counts as deselected: pages are written one by one.",
    )
    brake_share_percent: int = Field(
        20,
        ge=0,
        le=100,
        description="Removals are held if more than this share of a workload's clusters would go at once, and more than --brake-least-clusters.",
    )
    brake_least_clusters: int = Field(
        10, ge=0, description="This number of clusters may always go: see --brake-share-percent."
    )
    brake_window_seconds: Seconds = Field(
        600,
        description="Clusters that go within this time, with no change of spec, go at once: see --brake-share-percent.",
    )
    gather_seconds: float = Field(
        1,
        ge=0,
        le=60,
        description="The status of an object is written at most once in this time, and news of it"
        " is gathered for as long, unless somebody edits it or clusters wait for nothing but other clusters.",
    )

    # Who leads.
    lease_namespace: str = Field(
        "", description="Where the lease lies. Default: the pod's namespace, else default."
    )
    lease_name: str = Field(
        "rollout-controller", min_length=1, max_length=253, description="The lease's name."
    )
    lease_duration_seconds: int = Field(
        15, ge=1, le=3600, description="A successor waits this long after the last renewal it saw."
    )
    renew_deadline_seconds: Seconds = Field(
        10, description="A leader that could not renew for this long stops writing and ends."
    )
    retry_seconds: Seconds = Field(2, description="Time between two looks at the lease.")
    shards: int = Field(
        1,
        ge=1,
        le=MOST_SHARDS,
        description="Number of processes that share the workloads of this hub, by namespace."
        " Each has a lease of its own and watches only its own works.",
    )
    shard: int = Field(
        0,
        ge=0,
        description="Number of this process among the shards, from 0 on. Shard 0 also rolls add-ons out.",
    )
    write_timeout_seconds: Seconds = Field(
        4.5,
        description="Time-out of a write. Renew deadline and this together end before the lease"
        " does, so that no write of a leader that is gone arrives.",
    )
    stop_within_seconds: Seconds = Field(
        10,
        description="When told to stop, wait for writes that are out for at most this long. The"
        " pod's terminationGracePeriodSeconds must be longer.",
    )

    # How one looks at it.
    health_listen: str = Field(
        ":8082",
        description="Address of /healthz and /readyz, for probes; empty: none. They have a port of"
        " their own, so that nobody who may read metrics can keep them from being answered.",
    )
    listen: str = Field(":8080", description="Address of /metrics; empty: none.")
    metrics_reviewed: bool = Field(
        False,
        description="Answer /metrics only to those whose token the hub knows and whom its RBAC"
        " allows to get the URL /metrics. Else to everybody who can reach the address.",
    )
    debug_listen: str = Field(
        "127.0.0.1:8081",
        description="Address of the debug endpoint; empty: none. An address that other"
        " machines can reach needs a certificate: callers send their tokens.",
    )
    tls_certificate: str = Field("", description="File of the debug endpoint's certificate.")
    tls_key: str = Field("", description="File of its key.")
    log_format: Literal["text", "json"] = Field("text", description="How log lines are written.")
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        "info", description="Lowest level that is logged."
    )
    decision_log: str = Field(
        "",
        description="File to which every decision is written, with its inputs; `rollout replay` makes"
        " the decisions again.",
    )
    decision_log_lines: int = Field(
        50_000,
        ge=1_000,
        description="Lines of the decision log, after which the file is renamed to FILE.1.",
    )
    events: bool = Field(True, description="Write Kubernetes Events.")
    traces: bool = Field(
        False,
        description="Send a trace of each rollout to OpenTelemetry, by the OTEL_* variables; needs"
        " `pip install 'rollout[otel]'`.",
    )

    def sharding(self, namespace: str) -> Sharding:
        """The share of this process, which runs in this namespace."""
        if self.shards == 1:
            return ALONE
        return Sharding(shards=self.shards, shard=self.shard, home=namespace)

    @property
    def published(self) -> tuple[Kind, ...]:
        """The kinds of SIG Multicluster that are written."""
        asked = (
            (SHARED_DECISION, self.publish_decisions),
            (CLUSTER_PROFILE, self.publish_clusters),
        )
        return tuple(kind for kind, is_asked in asked if is_asked)

    @model_validator(mode="after")
    def _fits_together(self) -> "Settings":
        if not self.retry_seconds < self.renew_deadline_seconds < self.lease_duration_seconds:
            raise ValueError(
                "retry_seconds, renew_deadline_seconds and lease_duration_seconds must grow in this"
                f" order, not {self.retry_seconds:g}, {self.renew_deadline_seconds:g},"
                f" {self.lease_duration_seconds}"
            )
        if self.renew_deadline_seconds + self.write_timeout_seconds >= self.lease_duration_seconds:
            raise ValueError(
                "renew_deadline_seconds and write_timeout_seconds together must be less than"
                f" lease_duration_seconds ({self.lease_duration_seconds}): a write must have ended"
                " before a successor may begin"
            )
        if self.shard >= self.shards:
            raise ValueError(
                f"shard {self.shard} of {self.shards} shards: they are counted from 0 on, so the last"
                f" one is {self.shards - 1}"
            )
        if bool(self.tls_certificate) != bool(self.tls_key):
            raise ValueError("tls_certificate and tls_key go together: give both or neither")
        debug = address(self.debug_listen)
        address(self.listen)
        address(self.health_listen)
        if debug and not self.tls_certificate and not _is_local(debug[0]):
            raise ValueError(
                f"debug_listen {self.debug_listen} can be reached from elsewhere and has no"
                " certificate, so tokens would travel in the open: give tls_certificate and"
                " tls_key, or listen on 127.0.0.1"
            )
        return self


STALE_FOR = 1.9
"""How many status intervals old what an agent says can be: it waits 1 to 1.9 of them."""
_LONG_ENOUGH = ("settle_seconds", "failure_grace_seconds")


def long_enough(settings: Settings, name: str) -> float:
    """A wait that is no shorter than what agents say may be old, in seconds."""
    chosen: float = getattr(settings, name)
    return max(chosen, STALE_FOR * settings.agent_status_interval_seconds)


def raised(settings: Settings) -> list[str]:
    """Which waits are longer than they were set, and why; one sentence each."""
    return [
        f"{name} {getattr(settings, name):g} is raised to {long_enough(settings, name):g}: agents"
        f" that look every {settings.agent_status_interval_seconds:g} s"
        f" (agent_status_interval_seconds) report what is up to {STALE_FOR:g} times as old"
        for name in _LONG_ENOUGH
        if long_enough(settings, name) > getattr(settings, name)
    ]


def _is_local(host: str) -> bool:
    return host in ("localhost", "::1") or host.startswith("127.")


def address(text: str) -> tuple[str, int] | None:
    """``host:port``, ``:port`` or ``[v6]:port``; None for the empty text. Raises: ValueError."""
    if not text:
        return None
    found = _ADDRESS.match(text)
    if found is None or int(found[3]) > 65_535:
        raise ValueError(f"{text!r} is not an address: write host:port or :port")
    return found[1] or found[2] or "", int(found[3])


def settings(values: Mapping[str, object]) -> Settings:
    """Check all values together. Raises: ConfigError that names every wrong one."""
    try:
        return Settings.model_validate(values)
    except ValidationError as error:
        # What concerns several settings names them itself.
        said = [str(p) if p.path else p.accepted for p in problems_of(error, model=Settings)]
        raise ConfigError("; ".join(said)) from error
