"""How is an AddOnTemplate written? Source: OCM add-on spec 1.5."""

from typing import Annotated, Literal

from pydantic import Field

from rollout.api.shapes.base import Name, Resource, Shape
from rollout.api.shapes.work import WorkSpec


class RoleRef(Shape):
    """A Role or ClusterRole."""

    api_group: str | None = None
    kind: Name
    name: Name


class CurrentCluster(Shape):
    """Rights in the namespace of the cluster."""

    cluster_role_name: Name


class SingleNamespace(Shape):
    """Rights in one namespace of the hub."""

    namespace: Name
    role_ref: RoleRef


class HubPermission(Shape):
    """What an agent may do on the hub."""

    type: Literal["CurrentCluster", "SingleNamespace"]
    current_cluster: CurrentCluster | None = None
    single_namespace: SingleNamespace | None = None


class KubeClient(Shape):
    """A client of the hub."""

    hub_permissions: list[HubPermission] | None = None


class SigningCA(Shape):
    """The Secret that holds a certificate authority."""

    namespace: str | None = None
    name: Name


class Subject(Shape):
    """Whom a certificate is made out to."""

    user: str | None = None
    groups: list[str] | None = None
    organization_unit: list[str] | None = None


class CustomSigner(Shape):
    """A certificate of a signer of one's own."""

    signer_name: Name
    signing_ca: Annotated[SigningCA | None, Field(alias="signingCA")] = None
    subject: Subject | None = None


class TemplateRegistration(Shape):
    """How an agent gets to know the hub, or somebody else."""

    type: Literal["KubeClient", "CustomSigner"]
    kube_client: KubeClient | None = None
    custom_signer: CustomSigner | None = None


class TemplateSpec(Shape):
    """What an add-on is made of on each cluster, with placeholders such as {{CLUSTER_NAME}}."""

    addon_name: Name
    agent_spec: WorkSpec
    registration: list[TemplateRegistration] | None = None


class AddOnTemplate(Resource):
    """The manifests of an add-on."""

    spec: TemplateSpec
