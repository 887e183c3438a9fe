"""An image from another registry."""

import pytest

from rollout.placement.cel.values import CelError
from rollout.values.expressions import moved

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
    with pytest.raises(CelError, match="is no "):
        moved(host, image)
