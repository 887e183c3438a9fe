"""Is a kind found under the version that the server prefers, and said to be missing where it is?"""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest

from rollout.errors import Denied, Gone, NotServed, Unavailable
from rollout.hub.kube_calls import Discovery
from rollout.model.kinds import PLACEMENT, Kind, kind_by_resource

TUNINGS = kind_by_resource("example.org", "tunings", namespaced=True)
PROFILES = kind_by_resource("example.org", "profiles", namespaced=False)


def group(*versions: str, preferred: str = "") -> Any:
    listed = [{"version": version} for version in versions]
    return {"versions": listed, "preferredVersion": {"version": preferred or versions[0]}}


def resources(*names: str, namespaced: bool = True) -> Any:
    return {"resources": [{"name": name, "namespaced": namespaced} for name in names]}


class Server:
    def __init__(self, answers: Mapping[str, Any]) -> None:
        self.answers = dict(answers)
        self.asked: list[str] = []

    async def ask(self, path: str) -> bytes:
        self.asked.append(path)
        found = self.answers.get(path)
        if found is None:
            raise Gone(f"GET {path}: not found")
        if isinstance(found, Exception):
            raise found
        return found if isinstance(found, bytes) else json.dumps(found).encode()


def version_of(server: Server, kind: Kind, discovery: Discovery | None = None) -> str:
    return asyncio.run((discovery or Discovery(server.ask)).version_of(kind))


def test_our_own_kinds_are_not_looked_up() -> None:
    server = Server({})

    assert version_of(server, PLACEMENT) == "v1beta1"
    assert server.asked == []


@pytest.mark.parametrize(
    ("preferred", "where", "found"),
    [
        ("v2", {"v1": resources("tunings"), "v2": resources("tunings", "x")}, "v2"),
        ("v2", {"v1": resources("tunings", "tunings/status"), "v2": resources("x")}, "v1"),
        ("v1", {"v1": resources("tunings"), "v2": resources("tunings")}, "v1"),
    ],
)
def test_the_preferred_version_that_has_the_resource_is_taken(
    preferred: str, where: Mapping[str, Any], found: str
) -> None:
    answers = {f"/apis/example.org/{version}": listed for version, listed in where.items()}
    server = Server({"/apis/example.org": group("v1", "v2", preferred=preferred), **answers})

    assert version_of(server, TUNINGS) == found


def test_what_was_found_is_asked_once_and_again_when_it_was_gone() -> None:
    server = Server(
        {"/apis/example.org": group("v1"), "/apis/example.org/v1": resources("tunings")}
    )
    discovery = Discovery(server.ask)
    assert [version_of(server, TUNINGS, discovery) for _ in range(3)] == ["v1"] * 3
    assert len(server.asked) == 2

    server.answers = {
        "/apis/example.org": group("v2"),
        "/apis/example.org/v2": resources("tunings"),
    }
    discovery.forget(TUNINGS)
    assert version_of(server, TUNINGS, discovery) == "v2"


@pytest.mark.parametrize(
    ("answers", "kind", "error", "said"),
    [
        ({}, TUNINGS, NotServed, "is the CustomResourceDefinition installed"),
        (
            {"/apis/example.org": group("v1"), "/apis/example.org/v1": resources("x")},
            TUNINGS,
            NotServed,
            "tunings.example.org up: the server does not have them",
        ),
        (
            {"/apis/example.org": group("v1"), "/apis/example.org/v1": resources("profiles")},
            PROFILES,
            NotServed,
            "they live in namespaces",
        ),
        (
            {
                "/apis/example.org": group("v1"),
                "/apis/example.org/v1": resources("tunings", namespaced=False),
            },
            TUNINGS,
            NotServed,
            "they live in no namespace",
        ),
        ({"/apis/example.org": Denied("no")}, TUNINGS, Denied, "no"),
        ({"/apis/example.org": b"<html>"}, TUNINGS, Unavailable, "no JSON at /apis/example.org"),
        ({"/apis/example.org": []}, TUNINGS, Unavailable, "no object"),
    ],
)
def test_what_is_not_found_says_why(
    answers: Mapping[str, Any], kind: Kind, error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        version_of(Server(answers), kind)
