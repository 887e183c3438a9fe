"""What of the official client does a hub load, and what do others find of it in the same process?"""

import subprocess
import sys

import pytest

UNUSED = ("urllib3", "requests", "oauthlib", "websocket", "kubernetes.client", "kubernetes.dynamic")


def said(code: str) -> str:
    """What a new interpreter prints that runs this."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_a_hub_loads_the_half_of_the_client_that_speaks_asyncio() -> None:
    loaded = said("import sys, rollout.hub.kube; print(*sys.modules)").split()

    assert "kubernetes.aio.client" in loaded
    assert not set(loaded) & set(UNUSED)


@pytest.mark.parametrize(
    ("code", "answer"),
    [
        ("import kubernetes; print(kubernetes.client.CoreV1Api.__name__)", "CoreV1Api"),
        ("import kubernetes; print(kubernetes.aio.watch.Watch.__name__)", "Watch"),
        ("import kubernetes; print(kubernetes.__version__[:1].isdigit())", "True"),
        ("import kubernetes.aio as a; print(a.__version__[:1].isdigit())", "True"),
        ("import kubernetes; print(hasattr(kubernetes, 'nothing'))", "False"),
        ("from kubernetes import aio, client, config; print(config.__name__)", "kubernetes.config"),
        ("from kubernetes import *; print(client.__name__, aio.__name__)", "kubernetes.client kubernetes.aio"),
        ("from kubernetes.client.rest import ApiException as e; print(e.__name__)", "ApiException"),
    ],
)  # fmt: skip
def test_whoever_imports_the_client_after_a_hub_finds_all_that_is_in_it(
    code: str, answer: str
) -> None:
    assert said(f"import rollout.hub.kube; {code}") == answer


def test_a_client_that_was_imported_before_the_hub_stays_as_it_is() -> None:
    code = "import kubernetes as k; was = k.client; import rollout.hub.kube; print(k.client is was)"

    assert said(code) == "True"
