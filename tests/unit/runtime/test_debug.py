"""Does the debug endpoint answer whom it may, what is so, and nobody else?"""

import json
from typing import Any

import pytest

from rollout.clock import VirtualClock
from rollout.errors import Unavailable
from rollout.model.kinds import PLACEMENT_DECISION, Obj, Ref
from rollout.placement.cel.bounds import SLICE_STEPS
from rollout.planning.placements import PlacementPlanner
from rollout.runtime.debug import Debug
from rollout.runtime.health import LARGEST_BODY, Request, Response
from rollout.runtime.reviews import ACCESS_REVIEW, TOKEN_REVIEW, Reviews
from tests.support import make
from tests.support.processes import SEC, T0, World


class Judge:
    """What an API server answers to reviews: tokens are names, and what each name may do."""

    def __init__(self) -> None:
        self.asked: list[Obj] = []
        self.fault: Exception | None = None
        self.refuse: set[str] = set()  # resource, url

    def create(self, ref: Ref, obj: Obj) -> Obj:
        self.asked.append(obj)
        if self.fault is not None:
            raise self.fault
        spec = obj["spec"]
        if ref.kind is TOKEN_REVIEW:
            known = spec["token"].startswith("good")
            user = {"username": spec["token"], "groups": ["g"], "extra": {"e": ["1"]}, "uid": "u"}
            return {"status": {"authenticated": known, "user": user if known else {}}}
        assert ref.kind is ACCESS_REVIEW
        part = "url" if "nonResourceAttributes" in spec else "resource"
        allowed = part not in self.refuse
        return {"status": {"allowed": allowed, "reason": "" if allowed else "by the test"}}


class Rig:
    def __init__(self) -> None:
        documents = [
            *make.fleet(6, canary=2), make.placement("only", only={"ring": "canary"}),
            make.placement("bad"),
        ]  # fmt: skip
        self.world = World(documents)
        self.process = self.world.start("p0")
        self.world.on(5)
        self.judge, self.clock = Judge(), VirtualClock(T0)
        self.ready, self.busy, self.turns = True, False, 0
        self.debug = Debug(
            Reviews(self.judge, self.clock),  # type: ignore[arg-type]  # it only creates
            self.process.controller.engine.fleet,
            PlacementPlanner(slice_steps=SLICE_STEPS),
            self.clock,
            ask=self._ask,
            ready=lambda: self.ready,
        )

    def _ask(self, job: Any, seconds: float) -> Any:
        if self.busy:
            raise TimeoutError
        self.turns += 1
        return job()

    def get(self, path: str, token: str = "good", method: str = "GET") -> Response:
        authorization = f"Bearer {token}" if token else ""
        return self.debug(
            Request(
                method=method,
                path="/debug/placements/" + path,
                query={},
                authorization=authorization,
            )
        )

    def post(self, obj: object, length: int | None = 0) -> Response:
        body = obj if isinstance(obj, bytes) else json.dumps(obj).encode()
        request = Request(
            method="POST",
            path="/debug/placements/",
            query={},
            authorization="Bearer good",
            body=body,
            length=length,
        )
        return self.debug(request)


@pytest.fixture
def rig() -> Rig:
    return Rig()


def said(response: Response) -> Any:
    return json.loads(response.body)


def error(response: Response) -> tuple[int, str]:
    return response.status, said(response)["error"]


def test_a_stored_placement_is_explained(rig: Rig) -> None:
    response = rig.get("default/only")
    assert (response.status, response.content_type) == (200, "application/json")
    answer = said(response)
    assert answer["selected"] == ["c00", "c01"]
    assert [r["name"] for r in answer["filteredPipelineResults"]] == [
        "Predicate", "Predicate,TaintToleration",
    ]  # fmt: skip
    assert answer["filteredPipelineResults"][0]["filteredClusters"] == ["c00", "c01"]
    assert {r["name"] for r in answer["prioritizeResults"]} == {"Balance", "Steady"}
    assert [s["clusterName"] for s in answer["aggregatedScores"]] == ["c00", "c01"]
    assert answer["status"]["code"] == "Success"
    assert {c["type"]: c["status"] for c in answer["conditions"]} == {
        "PlacementMisconfigured": "False", "PlacementSatisfied": "True",
    }  # fmt: skip
    assert answer["placement"]["metadata"]["name"] == "only"


def test_what_it_says_is_what_was_decided(rig: Rig) -> None:
    for name in ("p", "only"):
        pages = rig.world.hub.list(PLACEMENT_DECISION, "default", {
            "cluster.open-cluster-management.io/placement": name}).items  # fmt: skip
        decided = {d["clusterName"] for page in pages for d in page["status"]["decisions"]}
        assert set(said(rig.get(f"default/{name}"))["selected"]) == decided


def test_a_placement_in_the_body_is_evaluated_and_not_stored(rig: Rig) -> None:
    before = rig.world.hub.list(PLACEMENT_DECISION).version
    body = make.placement("new", only={"ring": "canary"})
    body["spec"]["numberOfClusters"] = 1
    answer = said(rig.post(body))
    assert len(answer["selected"]) == 1
    assert rig.world.hub.list(PLACEMENT_DECISION).version == before


def test_a_body_gets_the_defaults_of_the_api(rig: Rig) -> None:
    spec = {"prioritizerPolicy": {"configurations": [
        {"scoreCoordinate": {"builtIn": "Steady"}, "weight": 3}]}}  # fmt: skip
    answer = said(rig.post({"metadata": {"namespace": "default"}, "spec": spec}))
    weights = {r["name"]: r["weight"] for r in answer["prioritizeResults"]}
    assert weights == {"Balance": 1, "Steady": 3}  # mode Additive, type BuiltIn


def test_a_misconfigured_placement_says_so(rig: Rig) -> None:
    spec = {
        "predicates": [{"requiredClusterSelector": {"celSelector": {"celExpressions": ["1 +"]}}}]
    }
    answer = said(rig.post({"metadata": {"namespace": "default"}, "spec": spec}))
    assert answer["status"]["code"] == "Misconfigured"
    conditions = {c["type"]: c for c in answer["conditions"]}
    assert conditions["PlacementMisconfigured"]["status"] == "True"


@pytest.mark.parametrize(
    ("path", "code", "words"),
    [
        ("default", 400, "invalid debug path: namespace and name required"),
        ("", 400, "invalid debug path: namespace and name required"),
        ("a/b/c", 400, 'unexpected key format: "a/b/c"'),
        ("default/none", 404, "placement 'none' not found"),
    ],
)
def test_a_bad_path_is_told(rig: Rig, path: str, code: int, words: str) -> None:
    assert error(rig.get(path)) == (code, words)


@pytest.mark.parametrize("method", ["PUT", "DELETE", "HEAD"])
def test_other_methods_are_refused(rig: Rig, method: str) -> None:
    assert error(rig.get("default/p", method=method)) == (405, f"method {method} not allowed")
    assert rig.judge.asked == []


@pytest.mark.parametrize(
    ("body", "length", "words"),
    [
        (b"{", 1, "failed to unmarshal placement JSON"),
        (b"[]", 2, "failed to unmarshal placement JSON"),
        (b'"x"', 3, "failed to unmarshal placement JSON"),
        (b"\xff\xfe", 2, "failed to unmarshal placement JSON"),
        (b"[" * 100_000, 100_000, "failed to unmarshal placement JSON"),
        (b"", LARGEST_BODY + 1, f"exceeds maximum of {LARGEST_BODY} bytes"),
        (b"", None, "request body too large: exceeds maximum"),
        (b'{"spec": {"numberOfClusters": "x"}}', 9, "numberOfClusters"),
    ],
)
def test_a_bad_body_is_told(rig: Rig, body: bytes, length: int | None, words: str) -> None:
    code, found = error(rig.post(body, length))
    assert code == 400
    assert words in found


@pytest.mark.parametrize("token", ["", "bad"])
def test_nobody_is_told_nothing(rig: Rig, token: str) -> None:
    assert error(rig.get("default/p", token)) == (
        401, "user information not found in request context",
    )  # fmt: skip


@pytest.mark.parametrize("part", ["url", "resource"])
def test_permission_is_looked_at_before_whether_it_is_there(rig: Rig, part: str) -> None:
    rig.judge.refuse = {part}
    for name in ("p", "none"):
        code, words = error(rig.get(f"default/{name}"))
        assert code == 403
        assert words.endswith(": by the test")
    if part == "resource":
        assert "to get placements in namespace default" in words


def test_each_method_asks_for_its_own_verbs(rig: Rig) -> None:
    rig.get("default/p")
    rig.post({"metadata": {"namespace": "default"}})
    specs = [obj["spec"] for obj in rig.judge.asked if obj["kind"] == "SubjectAccessReview"]
    verbs = [
        (spec.get("nonResourceAttributes") or spec["resourceAttributes"])["verb"] for spec in specs
    ]
    assert verbs == ["get", "get", "post", "create"]
    assert {spec["user"] for spec in specs} == {"good"}
    assert all(spec["groups"] == ["g"] and spec["extra"] == {"e": ["1"]} for spec in specs)


def test_the_same_question_is_asked_once_in_a_while(rig: Rig) -> None:
    for _ in range(5):
        rig.get("default/p")
    assert len(rig.judge.asked) == 3
    rig.clock.advance(11 * SEC)
    rig.get("default/p")
    assert len(rig.judge.asked) == 6


def test_one_users_answer_is_never_anothers(rig: Rig) -> None:
    assert rig.get("default/p", "good-1").status == 200
    rig.judge.refuse = {"resource"}
    assert rig.get("default/p", "good-1").status == 200
    assert rig.get("default/p", "good-2").status == 403
    assert rig.get("default/p", "bad").status == 401


def test_a_server_that_cannot_judge_is_a_500(rig: Rig) -> None:
    rig.judge.fault = Unavailable("away")
    assert error(rig.get("default/p")) == (500, "failed to check the token: away")


def test_nothing_is_answered_before_everything_is_read_or_while_the_engine_is_busy(
    rig: Rig,
) -> None:
    rig.ready = False
    assert rig.get("default/p").status == 503
    rig.ready, rig.busy = True, True
    assert rig.get("default/p").status == 503


def costly(count: int) -> Obj:
    ten = "[1,2,3,4,5,6,7,8,9,10]"
    texts = [f"{ten}.all(a, {ten}.all(b, {ten}.all(c, a + b + c != {n})))" for n in range(count)]
    found = make.placement("new")
    found["spec"]["predicates"] = [
        {"requiredClusterSelector": {"celSelector": {"celExpressions": [text]}}} for text in texts
    ]
    return found


def test_an_evaluation_that_takes_long_is_made_in_many_turns(rig: Rig) -> None:
    answer = said(rig.post(costly(10)))

    assert len(answer["selected"]) == 6
    assert rig.turns > 10


def test_an_evaluation_for_which_nobody_waits_any_longer_is_given_up(rig: Rig) -> None:
    body = json.dumps(costly(60)).encode()
    request = Request(
        method="POST",
        path="/debug/placements/",
        query={},
        authorization="Bearer good",
        body=body,
        length=len(body),
        gone=lambda: rig.turns == 3,
    )

    assert error(rig.debug(request))[0] == 503
    assert rig.turns == 3
