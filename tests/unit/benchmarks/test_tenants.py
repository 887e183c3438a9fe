"""When did a reaction end, by the audit log?"""

import pytest

from benchmarks.kube.audit import Request
from benchmarks.kube.tenants import NotLogged, Sample, reactions

STATUS = "placementdecisions/status"


def sample(*writes: tuple[str, str], began: float = 10.0) -> Sample:
    return Sample(what="an edit", began=began, heard=9.0, writes=frozenset(writes))


def request(
    verb: str, what: str, where: str, began: float, ended: float, code: int = 200
) -> Request:
    return Request(verb=verb, what=what, where=where, began=began, ended=ended, code=code)


def test_a_reaction_ends_with_the_first_write_that_is_stored() -> None:
    writes = ("manifestworks", "c1/web"), ("manifestworks", "c2/web")
    found = reactions(
        [sample(*writes), sample((STATUS, "quiet/p-1"), began=11.0)],
        [
            request("patch", "manifestworks", "c2/web", 10.5, 10.75),
            request("patch", "manifestworks", "c1/web", 10.25, 11.0),
            request("patch", STATUS, "quiet/p-1", 11.25, 11.5),
        ],
    )
    assert found == [0.75, 0.5]


@pytest.mark.parametrize(
    "other",
    [
        request("patch", "manifestworks", "c1/web", 9.5, 10.5),
        request("patch", "manifestworks", "c2/web", 10.5, 10.5),
        request("patch", "manifestworks/status", "c1/web", 10.5, 10.5),
        request("get", "manifestworks", "c1/web", 10.5, 10.5),
        request("patch", "manifestworks", "c1/web", 10.5, 10.5, code=409),
    ],
    ids=["asked before the edit", "another work", "its status", "a read", "refused"],
)
def test_what_is_no_reaction(other: Request) -> None:
    asked = sample(("manifestworks", "c1/web"))
    after = request("patch", "manifestworks", "c1/web", 12.0, 13.0)
    assert reactions([asked], [other, after]) == [3.0]


def test_a_reaction_that_the_audit_log_does_not_show_is_an_error() -> None:
    with pytest.raises(NotLogged, match=r"an edit: no write of .*c1/web"):
        reactions([sample(("manifestworks", "c1/web"))], [])
