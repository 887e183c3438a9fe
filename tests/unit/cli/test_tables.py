import pytest

from rollout.api.columns import AGE, Column, columns_of, declared_columns
from rollout.cli.tables import lines, table, widths
from rollout.model.kinds import (
    CLUSTER_SET,
    CLUSTER_SET_BINDING,
    CONFIG_MAP,
    CONTROLLER_REVISION,
    KINDS,
    LEASE,
    MANAGED_CLUSTER,
    PLACEMENT,
    REPLICA_SET,
    ROLLOUT_RECORD,
    ROLLOUT_REVISION,
    Kind,
    Obj,
)
from tests.support.shapes import MIN, T0, condition, standing

CREATED = "2026-01-01T00:00:00Z"


@pytest.mark.parametrize(
    ("kind", "header"),
    [
        (MANAGED_CLUSTER, "HUB ACCEPTED|MANAGED CLUSTER URLS|JOINED|AVAILABLE|AGE"),
        (CLUSTER_SET, "EMPTY|AGE"),
        (CLUSTER_SET_BINDING, "AGE"),
        (PLACEMENT, "SUCCEEDED|REASON|SELECTEDCLUSTERS"),
        (REPLICA_SET, "PLACEMENT|FOUND|MANIFESTWORKS|APPLIED"),
        (CONFIG_MAP, "DATA|AGE"),
        (CONTROLLER_REVISION, "CONTROLLER|REVISION|AGE"),
        (ROLLOUT_RECORD, "WORKLOAD|AGE"),
        (ROLLOUT_REVISION, "WORKLOAD|REVISION|AGE"),
        (LEASE, "HOLDER|AGE"),
    ],
    ids=repr,
)
def test_the_columns_are_those_that_kubectl_prints(kind: Kind, header: str) -> None:
    assert table(kind, (), T0).header == ("NAME", *header.split("|"))


def test_a_crd_declares_how_a_rollout_stands_and_no_age_where_the_api_has_none() -> None:
    assert [c.name for c in declared_columns(PLACEMENT)] == [
        "Succeeded",
        "Reason",
        "SelectedClusters",
    ]
    assert {"Updated", "Progressing", "Ready"} <= {c.name for c in declared_columns(REPLICA_SET)}
    assert declared_columns(CLUSTER_SET_BINDING) == ()


@pytest.mark.parametrize("kind", KINDS.values(), ids=repr)
def test_every_column_of_every_kind_can_be_read_from_an_empty_object(kind: Kind) -> None:
    obj: Obj = {"metadata": {"name": "x"}}

    (row,) = table(kind, [obj], T0, wide=True).rows

    assert row[0] == "x"
    assert set(row[1:]) <= {"", "0"}


def test_a_managed_cluster_shows_its_urls_conditions_and_age() -> None:
    obj: Obj = {
        "metadata": {"name": "c1", "creationTimestamp": CREATED},
        "spec": {
            "hubAcceptsClient": True,
            "managedClusterClientConfigs": [{"url": "https://a"}, {"url": "https://b"}],
        },
        "status": {
            "conditions": [
                condition("ManagedClusterJoined", "True", "J"),
                condition("ManagedClusterConditionAvailable", "Unknown", "A"),
            ]
        },
    }

    shown = table(MANAGED_CLUSTER, [obj], T0 + 5 * MIN)

    assert lines(shown, widths(shown)) == [
        "NAME   HUB ACCEPTED   MANAGED CLUSTER URLS   JOINED   AVAILABLE   AGE",
        "c1     true           https://a,https://b    True     Unknown     5m",
    ]


def test_the_workload_columns_are_reason_and_status_of_its_ocm_conditions() -> None:
    obj = standing(
        condition("PlacementVerified", "True", "AsExpected"),
        condition("ManifestworkApplied", "False", "NotAsExpected"),
    )

    (row,) = table(REPLICA_SET, [obj], T0).rows

    assert row == ("web", "AsExpected", "True", "NotAsExpected", "False")


def test_all_namespaces_adds_a_column_only_to_kinds_that_have_namespaces() -> None:
    assert table(PLACEMENT, (), T0, namespaces=True).header[:2] == ("NAMESPACE", "NAME")
    assert table(CLUSTER_SET, (), T0, namespaces=True).header[0] == "NAME"


def test_only_the_first_line_of_a_value_is_shown() -> None:
    obj: Obj = {"metadata": {"name": "l"}, "spec": {"holderIdentity": "one\ntwo"}}

    assert table(LEASE, [obj], T0).rows == (("l", "one...", ""),)


def test_a_creation_time_that_is_no_instant_is_invalid_rather_than_an_error() -> None:
    obj: Obj = {"metadata": {"name": "l", "creationTimestamp": "yesterday"}}

    assert table(CLUSTER_SET_BINDING, [obj], T0).rows == (("l", "<invalid>"),)


@pytest.mark.parametrize(
    "obj",
    [
        {"metadata": {"name": "x"}, "status": None},
        {"metadata": {"name": "x"}, "status": {"conditions": {"type": "Ready"}}},
        {"metadata": {"name": "x"}, "status": {"conditions": ["Ready", None]}},
    ],
)
def test_a_status_of_another_shape_leaves_cells_empty(obj: Obj) -> None:
    assert table(REPLICA_SET, [obj], T0).rows == (("x", "", "", "", ""),)


def test_rows_printed_later_keep_the_widths_of_the_first_table() -> None:
    first = table(PLACEMENT, [{"metadata": {"name": "a-long-name"}}], T0)
    later = table(PLACEMENT, [{"metadata": {"name": "b"}}], T0)

    sizes = widths(later, widths(first))

    assert sizes == widths(first)


def test_a_column_path_that_cannot_be_read_says_where() -> None:
    with pytest.raises(ValueError, match=r"cannot be read at '\[x\]'"):
        Column("X", ".spec.list[x]").value({})


def test_an_age_column_is_shared_by_all_kinds_that_have_one() -> None:
    assert columns_of(CLUSTER_SET_BINDING) == (AGE,)
