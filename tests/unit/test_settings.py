"""Does every setting say what it is, and is a combination that is not safe refused?"""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from rollout.errors import ConfigError
from rollout.model.policy import DEFAULT
from rollout.runtime.assembly import lease_terms, policy_of
from rollout.runtime.leader import LeaseTerms
from rollout.settings import Settings, address, raised, settings


def test_the_defaults_are_what_the_semantics_promise() -> None:
    kept = policy_of(settings({}), "rollout-system")
    assert kept.tell_every == timedelta(seconds=1)  # where nothing is gathered, all is told
    assert kept.settle == timedelta(seconds=19)  # real agents look every 10 to 19 s
    assert replace(kept, tell_every=DEFAULT.tell_every, settle=DEFAULT.settle) == DEFAULT
    assert lease_terms(settings({})) == LeaseTerms()


def test_every_setting_says_what_it_is() -> None:
    for name, field in Settings.model_fields.items():
        assert field.description, name
        assert field.description.endswith((".", "...", ":")), name


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"retry_seconds": 11}, "must grow in this order"),
        ({"renew_deadline_seconds": 15}, "must grow in this order"),
        ({"write_timeout_seconds": 5}, "a write must have ended before a successor may begin"),
        ({"write_timeout_seconds": 30}, "a write must have ended before a successor may begin"),
        ({"lease_duration_seconds": 0}, "lease_duration_seconds"),
        ({"failure_grace_seconds": -1}, "failure_grace_seconds"),
        ({"settle_seconds": float("nan")}, "settle_seconds"),
        ({"brake_share_percent": 101}, "brake_share_percent"),
        ({"profile": "lax"}, "profile"),
        ({"tls_key": "k"}, "give both or neither"),
        ({"debug_listen": ":8081"}, "tokens would travel in the open"),
        ({"debug_listen": "0.0.0.0:8081"}, "tokens would travel in the open"),
        ({"listen": "8080"}, "is not an address"),
        ({"listen": ":99999"}, "is not an address"),
        ({"no_such": 1}, "no_such"),
    ],
    ids=str,
)
def test_what_is_not_safe_is_refused(values: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        settings(values)


def test_all_that_is_wrong_is_told_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        settings({"profile": "x", "retry_seconds": "y", "log_format": "z"})
    for name in ("profile", "retry_seconds", "log_format"):
        assert name in str(caught.value)


def test_the_debug_endpoint_may_be_reached_from_elsewhere_with_a_certificate() -> None:
    values = {"debug_listen": ":8443", "tls_certificate": "c", "tls_key": "k"}
    assert settings(values).debug_listen == ":8443"


@pytest.mark.parametrize(
    ("text", "found"),
    [("", None), (":1", ("", 1)), ("a.b:80", ("a.b", 80)), ("[::1]:80", ("::1", 80))],
)
def test_addresses_are_read(text: str, found: tuple[str, int] | None) -> None:
    assert address(text) == found


@pytest.mark.parametrize(
    ("given", "settle", "grace"),
    [
        ({}, 19, 60),
        ({"settle_seconds": 5, "failure_grace_seconds": 5}, 19, 19),
        ({"settle_seconds": 30}, 30, 60),
        ({"agent_status_interval_seconds": 60}, 114, 114),
        ({"agent_status_interval_seconds": 3600}, 6840, 6840),
    ],
)
def test_settle_and_failure_grace_are_no_shorter_than_what_agents_say_may_be_old(
    given: dict[str, object], settle: float, grace: float
) -> None:
    found = policy_of(settings(given), "rollout-system")

    assert found.settle == timedelta(seconds=settle)
    assert found.failure_grace == timedelta(seconds=grace)


def test_each_wait_that_is_raised_is_said() -> None:
    assert raised(settings({})) == []
    (found,) = raised(settings({"settle_seconds": 5}))

    assert found == (
        "settle_seconds 5 is raised to 19: agents that look every 10 s"
        " (agent_status_interval_seconds) report what is up to 1.9 times as old"
    )


@pytest.mark.parametrize("seconds", [0.01, 3600.1, float("nan")])
def test_the_agents_status_interval_is_bounded(seconds: float) -> None:
    with pytest.raises(ConfigError, match="agent_status_interval_seconds"):
        settings({"agent_status_interval_seconds": seconds})
