"""Approves gates, rejects revisions, and freezes the hub."""

import hashlib
from collections.abc import Mapping, Set
from dataclasses import replace
from datetime import datetime

from rollout.api.own import decode_freeze
from rollout.errors import AlreadyExists, ConfigError, Gone
from rollout.hub.base import EmbeddedHub, Hub
from rollout.model import names
from rollout.model.approvals import (
    APPROVAL_GATE,
    CLUSTER_GATE,
    EVERY_STAGE,
    Approval,
    ApprovalDecision,
    Freeze,
    refusal,
)
from rollout.model.instants import parse_instant, rfc3339
from rollout.model.intents import AskedBy, asked_text, read_asked, read_intents
from rollout.model.kinds import APPROVAL, FREEZE, MANAGED_CLUSTER, Obj, Ref
from rollout.operate.edits import (
    FREEZE_NAME,
    Annotations,
    OptionError,
    VerbResult,
    Who,
    refuse_ocm,
)
from rollout.operate.given import NONE, given, places, refuse_others, says_so, still_rejected

NO_WORD: Mapping[str, AskedBy] = {}


def approve(
    hub: EmbeddedHub,
    ref: Ref,
    who: Who,
    gate: str = "",
    *,
    revision: str = "",
    shown: Set[str] = NONE,
    expires: datetime | None = None,
) -> tuple[VerbResult, ...]:
    """Approve a gate of the revision that is being rolled out.

    Args:
        gate: as the workload asks for it, ``*`` for all, or ``cluster/NAME`` for that cluster's analysis; ""
            where it asks for one only.
        revision: what was looked at; where that is no longer the present one nothing is approved.
        shown: as of `refuse_others`.
        expires: until when the gate must have been reached.

    Returns: what was written, one Approval for each revision (an add-on has one for each placement).
    Raises: ConfigError, Gone, HubError.
    """
    obj = hub.get(ref)
    known = obj["metadata"].get("annotations") or {}
    refuse_ocm(hub, ref, known, "a gate")
    gate = _of_cluster(hub, ref, known, gate) or _gate(ref, known, gate)
    if expires is not None and expires <= who.at:
        raise ConfigError(f"an approval that expired at {rfc3339(expires)} opens no gate")
    return _consent(
        hub,
        ref,
        obj,
        who,
        decision=ApprovalDecision.APPROVE,
        gate=gate,
        revision=revision,
        shown=shown,
        expires=expires,
    )


def _of_cluster(hub: Hub, ref: Ref, annotations: Annotations, gate: str) -> str:
    """The gate, where it is about the analysis of one cluster, else "". Raises: ConfigError, HubError."""
    if not gate.startswith(CLUSTER_GATE):
        return ""
    if not read_intents(annotations).cluster_analysis:
        raise ConfigError(
            f"{ref} has no analysis of each cluster: annotation {names.CLUSTER_ANALYSIS}"
        )
    cluster = gate.removeprefix(CLUSTER_GATE)
    try:
        hub.get(Ref(MANAGED_CLUSTER, cluster))
    except Gone:
        raise ConfigError(f"{ref}: no cluster is called {cluster}; correct the name") from None
    return gate


def _gate(ref: Ref, annotations: Annotations, gate: str) -> str:
    """The gate that is meant: the only one where none is named. Raises: ConfigError.

    Gates of other kinds may go by approvals, too: one of an analysis does where it is not clear.
    """
    intents = read_intents(annotations)
    asked = intents.gates
    every = [str(each) for each in asked]
    gates = [str(each) for each in asked if each.kind == APPROVAL_GATE] or every
    if not gates and intents.analysis and gate in ("", EVERY_STAGE):
        return EVERY_STAGE  # what is measured in the background stands at no gate
    if not gates and intents.cluster_analysis:
        none = f"{ref} has no gate; name a cluster"
        raise OptionError(
            f"{none}: --gate {CLUSTER_GATE}NAME", f"{none}, as gate: {CLUSTER_GATE}NAME"
        )
    if not gates:
        raise ConfigError(
            f"{ref} asks for no approval; annotation {names.GATES} would, such as before:rest"
        )
    if not gate and len(gates) > 1:
        several, listed = f"{ref} has {len(gates)} gates: choose one", ", ".join(gates)
        raise OptionError(
            f"{several} with --gate: {listed}, or * for all", f"{several}: {listed}, or * for all"
        )
    gate = gate or gates[0]
    if gate != EVERY_STAGE and gate not in every:
        raise ConfigError(f"{ref} has no gate {gate}; it has {', '.join(every)}")
    return gate


def reject(
    hub: Hub, ref: Ref, who: Who, *, revision: str = "", shown: Set[str] = NONE
) -> tuple[VerbResult, ...]:
    """Reject the revision that is being rolled out: it goes no further; with rollback Automatic its
    clusters get back what soaked there. Arguments: as of `approve`. Raises: ConfigError, Gone, HubError.
    """
    obj = hub.get(ref)
    return _consent(
        hub,
        ref,
        obj,
        who,
        decision=ApprovalDecision.REJECT,
        gate=EVERY_STAGE,
        revision=revision,
        shown=shown,
    )


def _consent(
    hub: Hub,
    ref: Ref,
    obj: Obj,
    who: Who,
    *,
    decision: ApprovalDecision,
    gate: str,
    revision: str,
    shown: Set[str],
    expires: datetime | None = None,
) -> tuple[VerbResult, ...]:
    present = sorted(places(hub, ref, obj))
    refuse_others(ref, {each for _, each in present}, shown)
    if revision and revision not in {each for _, each in present}:
        listed = ", ".join(sorted({each for _, each in present}))
        raise ConfigError(
            f"{ref}: revision {revision} is not rolled out (any more); {listed or 'none'} is"
        )
    if not present:
        raise ConfigError(f"{ref}: nothing is rolled out yet that could be approved or rejected")
    told: list[VerbResult] = []
    for namespace, each in present:
        if revision and each != revision:
            continue
        spec: Obj = {
            "workload": {"kind": ref.kind.name, "name": ref.name},
            "revision": each,
            "gate": gate,
            "decision": decision.value,
            "actor": who.by,
            "reason": who.reason,
        }
        if expires is not None:
            spec["expires"] = rfc3339(expires)
        known = given(hub, ref, namespace, each, now=who.at)
        told.append(_say(hub, ref, who, namespace, spec=spec, known=known))
    return tuple(told)


def _say(
    hub: Hub, ref: Ref, who: Who, namespace: str, *, spec: Obj, known: tuple[Approval, ...]
) -> VerbResult:
    """Write an Approval, unless one of those that are known says as much."""
    decision = ApprovalDecision(spec["decision"])
    same = says_so(known, decision, spec["gate"], parse_instant(spec.get("expires")))
    if same is not None:
        by = f" by {same.actor} (unverified)" if same.actor else ""
        until = f", until {rfc3339(same.expires)}" if same.expires else ""
        words = f"{_what(spec)} already{by}{until}"
        told = VerbResult(Ref(APPROVAL, f"{namespace}/{same.name}"), False, words)
    else:
        told = _create(hub, namespace, _name(ref, spec, who), spec)
    refused = refusal(known, spec["revision"], who.at)
    if decision is ApprovalDecision.APPROVE and refused is not None:
        return replace(told, message=f"{told.message}; but {still_rejected(refused)}")
    return told


def _name(ref: Ref, spec: Obj, who: Who) -> str:
    """A name that tells what it is about; the same word twice within a second is one object."""
    about = [spec[key] for key in ("revision", "gate", "decision", "expires") if key in spec]
    text = "/".join((str(ref), *about, rfc3339(who.at)))
    digest = hashlib.sha256(text.encode()).hexdigest()[:8]
    return f"{ref.name[:200]}-{spec['revision'][:8]}-{spec['decision'].lower()}-{digest}"


def _create(hub: Hub, namespace: str, name: str, spec: Obj) -> VerbResult:
    ref = Ref(APPROVAL, f"{namespace}/{name}")
    obj = {
        "apiVersion": APPROVAL.api_version,
        "kind": APPROVAL.name,
        "metadata": {"namespace": namespace, "name": name},
        "spec": spec,
    }
    try:
        hub.create(ref, obj)
    except AlreadyExists:
        return VerbResult(ref, False, _what(spec))
    return VerbResult(ref, True, f"created: {_what(spec)}")


def _what(spec: Obj) -> str:
    """What an Approval says, in words."""
    if spec["decision"] == ApprovalDecision.REJECT.value:
        return f"revision {spec['revision']} is rejected"
    gate = "every gate" if spec["gate"] == EVERY_STAGE else f"gate {spec['gate']}"
    if spec["gate"].startswith(CLUSTER_GATE):
        gate = f"what is measured of cluster {spec['gate'].removeprefix(CLUSTER_GATE)}"
    return f"{gate} of revision {spec['revision']} is approved"


def freeze(
    hub: Hub,
    who: Who,
    *,
    until: datetime | None = None,
    name: str = FREEZE_NAME,
    shorten: bool = False,
) -> VerbResult:
    """Freeze the hub: nothing on it is touched or removed until the Freeze ends or is deleted.

    One of this name that stands already until the same instant stays as it is; one that ends earlier is
    made longer, and keeps its reason where none is given. Only ``shorten`` makes one shorter.
    Raises: ConfigError where ``until`` has passed, or a longer one stands; HubError.
    """
    if until is not None and until <= who.at:
        raise ConfigError(f"a freeze until {rfc3339(until)} would be over already")
    ref = Ref(FREEZE, name)
    spec: Obj = {"reason": who.reason, "actor": who.by}
    if until is not None:
        spec["until"] = rfc3339(until)
    obj = {
        "apiVersion": FREEZE.api_version,
        "kind": FREEZE.name,
        "metadata": {"name": name, "annotations": _word("freeze", who)},
        "spec": spec,
    }
    words = "nothing is touched or removed on this hub from now on"
    if until is not None:
        words += f", until {rfc3339(until)}"
    try:
        hub.create(ref, obj)
    except AlreadyExists:
        return _freeze_again(hub, ref, obj, who, words=words, shorten=shorten)
    return VerbResult(ref, True, f"created: {words}")


def _freeze_again(
    hub: Hub, ref: Ref, obj: Obj, who: Who, words: str, *, shorten: bool
) -> VerbResult:
    known, spec = decode_freeze(hub.get(ref)), dict(obj["spec"])
    until, was = parse_instant(spec.get("until")), ""
    if known.stands(who.at):
        if known.until == until:
            return VerbResult(ref, False, f"the hub is frozen already{_by(known)}")
        if until is not None and (known.until is None or until < known.until) and not shorten:
            stands = f"{ref}: the hub is frozen{_by(known)}; "
            raise OptionError(
                f"{stands}that this would end earlier has to be said:"
                f" --shorten, or `rollout unfreeze {ref.name}`",
                f"{stands}one that ends earlier takes its place only once somebody has ended it",
            )
        spec["reason"] = spec["reason"] or known.reason
        was = f"; it was frozen{_by(known) or ' without an end'}"
    annotations = obj["metadata"]["annotations"]
    # None takes an end away that it had.
    hub.patch(ref, {"metadata": {"annotations": annotations}, "spec": {"until": None, **spec}})
    return VerbResult(ref, True, f"configured: {words}{was}")


def unfreeze(hub: Hub, who: Who, name: str = "") -> VerbResult:
    """End a freeze; "" ends the one that stands. It stays as a record of who ended it, and when.

    Raises: ConfigError where several stand and none was named, Gone, HubError.
    """
    freezes = {obj["metadata"]["name"]: decode_freeze(obj) for obj in hub.list(FREEZE).items}
    standing = sorted(n for n, freeze in freezes.items() if freeze.stands(who.at))
    if not name and len(standing) > 1:
        raise ConfigError(f"there are {len(standing)} freezes: name one of {', '.join(standing)}")
    ref = Ref(FREEZE, name or next(iter(standing), FREEZE_NAME))
    if not name and not standing:
        return VerbResult(ref, False, "the hub is not frozen")
    if name and name not in standing:
        found = freezes.get(name) or decode_freeze(hub.get(ref))  # raises where it is not there
        assert found.until is not None, "else it would stand"
        return VerbResult(ref, False, f"it ended at {rfc3339(found.until)}")
    others = [each for each in standing if each != ref.name]
    known = read_asked(hub.get(ref)["metadata"].get("annotations") or {})
    asked = _word("unfreeze", who, known)
    ended = {"metadata": {"annotations": asked}, "spec": {"until": rfc3339(who.at)}}
    hub.patch(ref, ended)
    words = (
        f"the hub stays frozen by {', '.join(others)}" if others else "rollouts on the hub go on"
    )
    return VerbResult(ref, True, f"ended: {words}")


def _word(verb: str, who: Who, known: Mapping[str, AskedBy] = NO_WORD) -> dict[str, str]:
    """The annotation that remembers who asked."""
    asked = {**known, verb: who.asked}
    return {names.ASKED: asked_text(asked, asked)}


def _by(freeze: Freeze) -> str:
    by = f" by {freeze.actor} (unverified)" if freeze.actor else ""
    until = f" until {rfc3339(freeze.until)}" if freeze.until else ""
    return f"{by}{until}{': ' if freeze.reason else ''}{freeze.reason}"
