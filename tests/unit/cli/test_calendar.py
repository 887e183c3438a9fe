"""What `rollout calendar` says of calendars in files and on a hub."""

import json
from pathlib import Path

import pytest

from tests.support.shapes import run, workload, write

EXAMPLE = str(Path(__file__).parents[3] / "examples" / "calendars")
BERLIN_NIGHT = ("--at", "2026-12-14T23:00:00Z")


def test_the_list_counts_the_zones_that_are_open_and_says_what_changes_next() -> None:
    result = run("calendar", "list", "-A", "-f", EXAMPLE, *BERLIN_NIGHT)

    assert [line.split() for line in result.stdout.splitlines()] == [
        ["NAMESPACE", "NAME", "OPEN", "NEXT", "CHANGE", "BLOCKS"],
        ["business", "1/3", "2026-12-15T03:00:00Z", "Removal,Touch"],
        ["shop", "second-tuesday", "1/1", "2027-01-12T00:00:00Z", "Removal,Touch"],
    ]


def test_calendars_of_other_namespaces_are_left_out() -> None:
    result = run("calendar", "list", "-f", EXAMPLE, *BERLIN_NIGHT, "-o", "json")

    assert [calendar["name"] for calendar in json.loads(result.stdout)] == ["business"]


def test_a_calendar_is_shown_with_each_zone_on_its_own_clock_and_in_utc() -> None:
    lines = run("calendar", "show", "business", "-f", EXAMPLE, *BERLIN_NIGHT).stdout.splitlines()

    assert lines[0] == "ClusterCalendar business   blocks Removal,Touch"
    assert "  nights     Allow   0 22 * * mon-fri for 6h00m" in lines
    assert lines[-1] == (
        "  Europe/Berlin   open; closes Tue 2026-12-15 04:00 Europe/Berlin (03:00Z)   1 cluster"
    )
    assert lines[-3].endswith(
        "closed, outside of all windows that allow; opens Mon 2026-12-14 22:00"
        " America/New_York (2026-12-15T03:00Z)   1 cluster"
    )


def test_a_window_that_closes_is_named_with_its_reason() -> None:
    result = run(
        "calendar", "show", "business", "-f", EXAMPLE, "--at", "2026-12-20T00:00:00Z",
        "--zone", "Europe/Berlin",
    )  # fmt: skip

    assert "closed, window year-end: trading freeze; opens Mon 2027-01-04 22:00" in result.stdout


def test_a_week_has_a_row_for_each_local_day_and_a_gap_where_the_clock_skips() -> None:
    result = run(
        "calendar", "show", "business", "-f", EXAMPLE, "--at", "2026-03-27T12:00:00Z",
        "--zone", "Europe/Berlin", "--week",
    )  # fmt: skip

    rows = result.stdout.splitlines()[-7:]
    assert rows[0] == f"Fri 2026-03-27  {'#' * 8}{'.' * 36}{'#' * 4}"
    assert rows[1] == f"Sat 2026-03-28  {'#' * 8}{'.' * 40}"
    assert rows[2] == f"Sun 2026-03-29  {'.' * 4}  {'.' * 42}"


def test_a_week_as_json_lists_its_openings() -> None:
    result = run(
        "calendar", "show", "business", "-f", EXAMPLE, *BERLIN_NIGHT, "--zone", "Asia/Tokyo",
        "--week", "-o", "json",
    )  # fmt: skip

    zone = json.loads(result.stdout)["zones"][0]
    assert (zone["timeZone"], zone["open"], zone["until"]) == (
        "Asia/Tokyo", False, "2026-12-15T13:00:00Z",
    )  # fmt: skip
    assert [each["from"] for each in zone["openings"]] == [
        "2026-12-15T13:00:00Z", "2026-12-16T13:00:00Z", "2026-12-17T13:00:00Z",
    ]  # fmt: skip


def test_a_picture_is_of_one_zone() -> None:
    one = run("calendar", "show", "business", "-f", EXAMPLE, "-o", "svg", "--zone", "Asia/Tokyo")
    many = run("calendar", "show", "business", "-f", EXAMPLE, "-o", "svg")

    assert one.stdout.startswith("<svg ")
    assert "ClusterCalendar business in Asia/Tokyo" in one.stdout
    assert many.exit_code == 2
    assert "choose one with --zone" in many.stderr


def test_a_hub_is_asked_where_no_file_is_named(tmp_path: Path) -> None:
    state = str(tmp_path / "state.db")
    run("apply", "-f", EXAMPLE, "--state", state)

    result = run("calendar", "list", "-n", "shop", "--state", state, *BERLIN_NIGHT)

    assert [line.split()[-4] for line in result.stdout.splitlines()[1:]] == [
        "business", "second-tuesday",
    ]  # fmt: skip


UNKNOWN = """
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {name: mars, labels: {zone: Mars.Base}}
spec: {hubAcceptsClient: true}
"""


def test_a_cluster_of_an_unknown_zone_is_named_and_others_are_shown(tmp_path: Path) -> None:
    (tmp_path / "mars.yaml").write_text(UNKNOWN)

    result = run("calendar", "show", "business", "-f", EXAMPLE, "-f", str(tmp_path), *BERLIN_NIGHT)

    assert "  UnknownTimeZone: 'Mars/Base' is not a time zone; closed: mars" in result.stdout
    assert "Europe/Berlin   open" in result.stdout


BAD = """
apiVersion: rollout-engine.io/v1alpha1
kind: Calendar
metadata: {name: bad}
spec:
  windows:
  - {name: w, action: Allow, schedule: "0 25 * * *", duration: 1h}
"""


def test_a_calendar_that_cannot_be_read_is_listed_as_misconfigured_and_said_why(
    tmp_path: Path,
) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(BAD)

    listed = run("calendar", "list", "-f", str(path))
    shown = run("calendar", "show", "bad", "-f", str(path))
    checked = run("validate", "-f", str(path))

    assert "Misconfigured" in listed.stdout
    assert shown.exit_code == checked.exit_code == 1
    assert "spec.windows[0].schedule" in shown.stderr
    assert f"{path}:7: error: Calendar default/bad" in checked.stdout
    assert "five fields of cron" in checked.stdout


LAST = """
  clusters: {celSelector: {celExpressions: ["managedCluster.metadata.name != 'ohio'"]}}
status:
  unreadableSince: 2026-12-14T12:00:00Z
  lastReadable: >-
    {"timeZone": "Europe/Berlin", "timeZoneFrom": {"label": "zone"},
    "clusters": {"celSelector": {"celExpressions": ["managedCluster.metadata.name != 'ohio'"]}},
    "windows": [{"name": "day", "action": "Allow", "schedule": "0 8 * * *", "duration": "6h"}]}
"""


def test_a_calendar_that_cannot_be_read_any_more_is_shown_as_it_decides(tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(BAD.rstrip() + LAST)
    files = ("-f", str(path), "-f", str(Path(EXAMPLE) / "clusters.yaml"), *BERLIN_NIGHT)

    shown = run("calendar", "show", "bad", "--week", *files)
    wire = json.loads(run("calendar", "show", "bad", "-o", "json", *files).stdout)

    assert shown.exit_code == 1
    assert "  day   Allow   0 8 * * * for 6h00m" in shown.stdout
    zones = shown.stdout.partition("zones\n")[2].splitlines()
    follows = "Misconfigured: clusters stay as they were before   1 cluster"
    assert zones == [f"  Asia/Tokyo   closed, {follows}", f"  Europe/Berlin   open, {follows}"]
    assert "five fields of cron" in shown.stderr
    assert "clusters stay as they were before" in shown.stderr
    assert [(each["timeZone"], each["open"], each["reason"]) for each in wire["zones"]] == [
        ("Asia/Tokyo", False, "Misconfigured"),
        ("Europe/Berlin", True, "Misconfigured"),
    ]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("show", "nope"), '"nope" not found in namespace default'),
        (("show", "business", "--zone", "Mars"), "there is no time zone 'Mars'"),
        (("list", "--at", "noon"), "'noon' is not an instant"),
    ],
)
def test_what_was_typed_wrongly_is_said(words: tuple[str, ...], said: str) -> None:
    result = run("calendar", *words, "-f", EXAMPLE)

    assert result.exit_code in (1, 2)
    assert said in result.stderr


def test_an_override_is_typed_with_an_end(tmp_path: Path) -> None:
    state = str(tmp_path / "state.db")
    run("apply", "-f", write(tmp_path / "web.yaml", workload()), "--state", state)
    words = ("override", "calendar", "mwrs", "web", "--state", state)

    set_aside = run(*words, "--until", "2h", "--reason", "an outage")
    neither = run(*words)
    ended = run(*words, "--end")

    assert "no calendar closes anything to it until" in set_aside.stdout
    assert "give --until WHEN, or --end" in neither.stderr
    assert "calendars count again" in ended.stdout


def test_the_list_of_workloads_says_which_are_past_all_calendars(tmp_path: Path) -> None:
    state = str(tmp_path / "state.db")
    run("apply", "-f", write(tmp_path / "web.yaml", workload()), "--state", state)
    assert "past all calendars" not in run("list", "--state", state).stdout

    run("override", "calendar", "mwrs", "web", "--state", state, "--until", "2h", "--by", "ann")

    assert ", past all calendars until " in run("list", "--state", state).stdout
