"""The record of a rollout: what must outlive the process, and its JSON.

One record per (workload, placementRef): the revision, the stages it has passed, and for each touched
cluster the first attempt, the health the hub saw and since when, the verdict and its reason. It lies in
RolloutRecords beside the workload (an add-on's in the controller's own namespace), in pages of at most
`PAGE_SIZE` clusters, as JSON that a person can read. A page is written before any touch that depends on
what it says. Nobody but the controller's account may write one. Source: semantics, "The record".
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Any

import msgspec

from rollout.model import names
from rollout.model.amounts import parse_digits
from rollout.model.instants import parse_instant, rfc3339_micro
from rollout.model.kinds import ROLLOUT_RECORD, Obj, Ref
from rollout.model.ownership import owned_object
from rollout.model.sharing import shared_cluster, shared_text
from rollout.rollouts.head import Basis, Head, Leaving, Rollback, generations
from rollout.rollouts.line import NOT_BROUGHT, SOAKED_KEPT, Line
from rollout.strategies.base import Health, Standing, Verdict

PAGE_SIZE = 100
"""Clusters on a page: at most 2,000 are promised. A page is written as a whole; most passes change a
few clusters."""
HEAD = "head.json"
CLUSTERS = "clusters.json"
FORMAT = 1


@dataclass(frozen=True, slots=True)
class Record:
    """A record, read back. ``places`` says on which page each cluster stands."""

    head: Head = field(default_factory=Head)
    lines: Mapping[str, Line] = field(default_factory=dict)
    places: Mapping[str, int] = field(default_factory=dict)

    def last_sign(self) -> datetime | None:
        """The latest instant at which its writer surely lived; None where it tells of none."""
        standings = [line.standing for line in self.lines.values() if line.standing is not None]
        told = [at for s in standings for at in (s.touched, s.since) if at is not None]
        told += [begin for begin, _ in self.head.outages]
        return max(told, default=None)

    def unattended(self, until: datetime | None, now: datetime) -> tuple[datetime, datetime] | None:
        """The span in which nobody looked after these clusters, as far as the record has to tell of it.

        Without its head it has lost the outages: then nothing is known of the time since the first touch.

        Args:
            until: when somebody began to look again; None: it is known otherwise.
        """
        touched = [line.standing.touched for line in self.lines.values() if line.standing]
        if touched and not self.head.revision:
            return min(touched), now
        last = self.last_sign()
        return None if last is None or until is None else (last, until)


@lru_cache(maxsize=16_384)  # it is asked for every page that the hub tells of
def record_id(workload: Ref, placement: str) -> str:
    """A short name, safe in labels, for one (workload, placementRef)."""
    text = f"{workload.kind.name}/{workload.key}/{placement}"
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def page_ref(namespace: str, rid: str, page: int) -> Ref:
    return Ref(ROLLOUT_RECORD, f"{namespace}/rollout-record-{rid}-{page}")


@lru_cache(maxsize=16_384)  # it is asked for every page that goes out, and that the hub tells of
def page_of(ref: Ref) -> tuple[str, int] | None:
    """The record's id and the page's number, from the name; None where it is no page's name."""
    prefix, name = "rollout-record-", ref.name
    rid, _, number = name.removeprefix(prefix).rpartition("-")
    page = _page_number(number)
    if not name.startswith(prefix) or not rid or page is None:
        return None
    return rid, page


def _page_number(text: str) -> int | None:
    """The number as we write it, without leading zeros; None for what others put there."""
    number = parse_digits(text)
    return number if str(number) == text else None


def line_text(line: Line) -> str:
    """One cluster's line of JSON, ``"c1": {...}``."""
    body = _standing_body(line.standing)
    if line.cause:
        body["cause"] = line.cause
    if line.lost_from:
        body["lostFrom"] = line.lost_from
    if line.soaked:
        body["soaked"] = list(line.soaked)
    if line.cause == NOT_BROUGHT and line.before is not None:
        standing, cause = line.before
        body["before"] = _standing_body(standing) | ({"cause": cause} if cause else {})
    return one_line({line.cluster: body})[1:-1]


def one_line(value: Obj) -> str:
    """Texts, lists and objects exactly as `json.dumps` writes them. That takes three times as long, so it is
    asked only for what is not plain ASCII, which it escapes.
    """
    try:
        text = msgspec.json.format(msgspec.json.encode(value), indent=0).decode()
    except UnicodeEncodeError:  # half of a surrogate pair, which an agent may say
        return json.dumps(value)
    return text if text.isascii() and text.isprintable() else json.dumps(value)


def _standing_body(standing: Standing | None) -> dict[str, Any]:
    """What is said of a standing; nothing where a cluster was never touched."""
    if standing is None:
        return {}
    body: dict[str, Any] = {
        "revision": standing.revision,
        "touchedAt": rfc3339_micro(standing.touched),
        "health": standing.health.value,
    }
    if standing.since is not None:
        body["since"] = rfc3339_micro(standing.since)
    if standing.verdict is not None:
        body["verdict"] = standing.verdict.value
    if standing.reason:
        body["reason"] = standing.reason
    if standing.token:
        body["token"] = standing.token
    if standing.made_for:
        body["madeFor"] = standing.made_for
    return body


def page_text(lines: Iterable[str]) -> str:
    return "{\n" + ",\n".join(lines) + "\n}"


def head_text(head: Head) -> str:
    """The head as JSON, deterministic."""
    basis = head.basis
    return json.dumps(
        {
            "format": FORMAT,
            "revision": head.revision,
            "passed": sorted(head.passed),
            "seen": sorted(head.seen),
            "basis": {
                "of": basis.of,
                "since": rfc3339_micro(basis.since) if basis.since else None,
            },
            "removals": [[rfc3339_micro(at), n] for at, n in head.removals],
            "outages": [[rfc3339_micro(a), rfc3339_micro(b)] for a, b in head.outages],
            **_seldom(head),
        },
        indent=1,
    )


def _seldom(head: Head) -> Obj:
    """What is written only where there is something to say."""
    found: Obj = {}
    if head.began is not None:
        found["began"] = rfc3339_micro(head.began)
    if head.detached:
        found["detached"] = [[rfc3339_micro(at), n] for at, n in head.detached]
    if head.leaving:
        found["leaving"] = _leaving(head)
    if head.opened:
        found["opened"] = sorted(head.opened)
    if head.retried:
        found["retried"] = head.retried
    if head.completed:
        found["completed"] = True
    if head.rollback is not None:
        back = head.rollback
        found["rollback"] = {
            "revision": back.revision,
            "cause": back.cause,
            "began": rfc3339_micro(back.began),
            "to": back.to,
        }
    if head.barred_by:
        found["barredBy"] = head.barred_by
    if head.waived:
        waived: dict[str, list[str]] = {}
        for cluster, revision in sorted(head.waived.items()):
            waived.setdefault(revision, []).append(cluster)
        found["waived"] = waived
    return found


def _leaving(head: Head) -> list[Obj]:
    """The clusters that are being removed, with those together that were counted at one instant."""
    groups: dict[Leaving, list[str]] = {}
    for cluster, each in sorted(head.leaving.items()):
        groups.setdefault(each, []).append(cluster)
    return [
        {"at": rfc3339_micro(each.at), "detached": each.detached, "clusters": clusters}
        for each, clusters in sorted(groups.items(), key=lambda item: item[1])
    ]


def read_record(pages: Iterable[Obj]) -> Record:
    """Read all pages of one record, in any order. What cannot be read is as if never written:
    the standing is then rebuilt from the works, conservatively.
    """
    head = Head()
    lines: dict[str, Line] = {}
    places: dict[str, int] = {}
    for page in pages:
        number = _page_number(page["metadata"]["name"].rpartition("-")[2])
        data = page.get("data") or {}
        if number is None:
            continue
        if number == 0:  # the page of the head alone
            head = _read_head(data.get(HEAD))
            continue
        for cluster, body in _loads(data.get(CLUSTERS)).items():
            line = _read_line(cluster, body)
            if line is not None:
                lines[cluster] = line
                places[cluster] = number
    return Record(head, lines, places)


def _loads(text: object) -> dict[str, Any]:
    try:
        found = json.loads(text) if isinstance(text, str) else {}
    except (ValueError, RecursionError):  # no JSON, or nested beyond reason
        return {}
    return found if isinstance(found, dict) else {}


def _read_head(text: object) -> Head:
    body = _loads(text)
    return Head(
        str(body.get("revision") or ""),
        began=parse_instant(body.get("began")),
        passed=_strings(body.get("passed")),
        seen=_strings(body.get("seen")),
        basis=_read_basis(body.get("basis")),
        removals=_counts(body.get("removals")),
        detached=_counts(body.get("detached")),
        leaving=_read_leaving(body.get("leaving")),
        outages=tuple(
            (begin, end)
            for begin, raw_end in _pairs(body.get("outages"))
            if begin is not None and (end := parse_instant(raw_end)) is not None
        ),
        opened=_strings(body.get("opened")),
        retried=str(body.get("retried") or ""),
        rollback=_read_rollback(body.get("rollback")),
        waived=_read_waived(body.get("waived")),
        completed=body.get("completed") is True,
        barred_by=str(body.get("barredBy") or ""),
    )


def _read_basis(raw: object) -> Basis:
    """Older versions wrote generations: they are known again as long as they are still the same."""
    body = raw if isinstance(raw, dict) else {}
    of, workload = str(body.get("of") or ""), _whole(body.get("workload"))
    if not of and workload:
        of = generations(workload, _whole(body.get("placement")))
    return Basis(of, parse_instant(body.get("since")))


def _counts(raw: object) -> tuple[tuple[datetime, int], ...]:
    return tuple((at, _whole(n)) for at, n in _pairs(raw) if at is not None)


def _read_leaving(raw: object) -> dict[str, Leaving]:
    found: dict[str, Leaving] = {}
    for body in raw if isinstance(raw, list) else ():
        at = parse_instant(body.get("at")) if isinstance(body, dict) else None
        if at is not None:
            each = Leaving(at, body.get("detached") is True)
            found |= dict.fromkeys(_strings(body.get("clusters")), each)
    return found


def _read_waived(raw: object) -> dict[str, str]:
    by_revision = raw if isinstance(raw, dict) else {}
    return {
        cluster: revision
        for revision, clusters in by_revision.items()
        for cluster in _strings(clusters)
    }


def _read_rollback(raw: object) -> Rollback | None:
    """A rollback whose beginning cannot be read is none: it begins anew where it is still asked for."""
    body = raw if isinstance(raw, dict) else {}
    began, revision = parse_instant(body.get("began")), str(body.get("revision") or "")
    if began is None or not revision:
        return None
    return Rollback(revision, str(body.get("cause") or ""), began, str(body.get("to") or ""))


def _strings(raw: object) -> frozenset[str]:
    return frozenset(str(item) for item in raw) if isinstance(raw, list) else frozenset()


def _whole(raw: object) -> int:
    return raw if isinstance(raw, int) else 0


def _pairs(raw: object) -> list[tuple[datetime | None, Any]]:
    items = raw if isinstance(raw, list) else []
    return [
        (parse_instant(item[0]), item[1])
        for item in items
        if isinstance(item, list) and len(item) == 2
    ]


def _read_line(cluster: str, body: object) -> Line | None:
    if not isinstance(body, dict):
        return None
    lost = str(body.get("lostFrom") or "")
    try:
        standing = _read_standing(cluster, body)
    except ValueError:
        return None
    if standing is None and not lost:
        return None
    listed = body.get("soaked")
    soaked = tuple(str(each) for each in listed) if isinstance(listed, list) else ()
    return Line(
        cluster=cluster,
        standing=standing,
        cause=_read_cause(body),
        lost_from=lost,
        soaked=soaked[:SOAKED_KEPT],
        before=_read_before(cluster, body.get("before")),
    )


def _read_before(cluster: str, body: object) -> tuple[Standing | None, str] | None:
    """How a cluster stood before it could be brought nothing; None where that is not known."""
    if not isinstance(body, dict):
        return None
    try:
        return _read_standing(cluster, body), _read_cause(body)
    except ValueError:
        return None


def _read_cause(body: dict[str, Any]) -> str:
    return shared_text(str(body.get("cause") or ""))


def _read_standing(cluster: str, body: dict[str, Any]) -> Standing | None:
    """The standing that a line of the record describes; None if the cluster was never touched.

    Raises: ValueError if a field has a value that the engine never writes.
    """
    touched = parse_instant(body.get("touchedAt"))
    if touched is None:
        return None
    return Standing(
        cluster=shared_cluster(cluster),
        revision=shared_text(str(body.get("revision") or "")),
        touched=touched,
        health=Health(body.get("health")),
        since=parse_instant(body.get("since")),
        verdict=Verdict(body["verdict"]) if body.get("verdict") else None,
        reason=shared_text(str(body.get("reason") or "")),
        token=shared_text(str(body.get("token") or "")),
        made_for=shared_text(str(body.get("madeFor") or "")),
    )


def page_object(
    rid: str, owner: Ref, uid: str, placement: str, *, page: int, data: Obj, namespace: str = ""
) -> Obj:
    """A page as a new RolloutRecord beside the workload that owns it, or in another namespace."""
    return owned_object(
        page_ref(namespace or owner.namespace, rid, page),
        owner,
        uid,
        {"data": data},
        labels={names.RECORD_LABEL: rid},
        annotations={names.OWNER: owner.key, names.RECORD_PLACEMENT: placement},
    )
