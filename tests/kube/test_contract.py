"""The hub contract, kept by a real API server."""

import pytest

from rollout.errors import Gone
from rollout.hub.base import Hub
from rollout.hub.kube import KubeHub
from rollout.model.kinds import MANIFEST_WORK, Ref
from tests.kube.contract import HubContract, work
from tests.kube.setting import namespace

pytestmark = pytest.mark.kube


class TestOnARealServer(HubContract):
    @pytest.fixture
    def hub(self, admin: KubeHub) -> Hub:
        namespace(admin, "c1", "c2")
        return admin

    def test_a_create_in_a_namespace_that_is_not_there_is_gone(self, hub: Hub) -> None:
        with pytest.raises(Gone, match="nowhere"):
            hub.create(Ref(MANIFEST_WORK, "nowhere/web"), work())

    def test_what_is_read_carries_no_managed_fields(self, hub: Hub) -> None:
        hub.create(Ref(MANIFEST_WORK, "c1/web"), work())

        (listed,) = hub.list(MANIFEST_WORK).items
        assert "managedFields" not in listed["metadata"]
        assert listed == hub.get(Ref(MANIFEST_WORK, "c1/web"))
