"""An image from another registry."""

import pytest

from rollout.model.names import REGISTRY_CLAIM, REGISTRY_LABEL
from rollout.placement.cel.values import CelError
from rollout.values.expressions import Failed, evaluate, moved, moved_for, value_program

DIGEST = "@sha256:" + "0" * 64


@pytest.mark.parametrize(
    ("host", "image", "said"),
    [
        ("eu.example", "registry.example/shop/app:1.4", "eu.example/shop/app:1.4"),
        ("eu.example", "registry.example:5000/app" + DIGEST, "eu.example/app" + DIGEST),
        ("eu.example", "localhost/app", "eu.example/app"),
        ("eu.example", "nginx:1.25", "eu.example/nginx:1.25"),
        ("eu.example", "shop/app:1.4", "eu.example/shop/app:1.4"),
        ("eu.example:8443/mirror/", "a.example/b/c", "eu.example:8443/mirror/b/c"),
    ],
)
def test_repository_tag_and_digest_stay(host: str, image: str, said: str) -> None:
    assert moved(host, image) == said


@pytest.mark.parametrize(
    ("host", "image"), [("", "app"), ("/", "app"), ("eu example", "app"), ("eu", ""), ("eu", "a b")]
)
def test_what_is_no_registry_or_no_image_is_refused(host: str, image: str) -> None:
    with pytest.raises(CelError, match="is not a valid "):
        moved(host, image)


@pytest.mark.parametrize(
    ("labels", "claims"),
    [
        ({REGISTRY_LABEL: "eu.example"}, {}),
        ({}, {REGISTRY_CLAIM: "eu.example"}),
        ({REGISTRY_LABEL: "eu.example"}, {REGISTRY_CLAIM: "us.example"}),
        ({REGISTRY_LABEL: ""}, {REGISTRY_CLAIM: "eu.example"}),
    ],
)
def test_a_cluster_says_by_a_label_or_a_claim_which_registry_it_takes_from(
    labels: dict[str, str], claims: dict[str, str]
) -> None:
    cluster = {"labels": labels, "claims": claims}

    assert moved_for(cluster, "registry.example/shop/app:1.4") == "eu.example/shop/app:1.4"


def test_a_cluster_that_names_no_registry_lacks_something() -> None:
    program = value_program("registry(cluster, 'app')")
    found, _ = evaluate(program, {"cluster": {"labels": {}, "claims": {}}})

    assert isinstance(found, Failed)
    assert found.is_missing
    assert REGISTRY_LABEL in found.why
    assert REGISTRY_CLAIM in found.why
