"""What does the engine write down of its rollouts? Only its own account writes these kinds."""

from pydantic import Field

from rollout.api.shapes.base import RawObject, Resource


class RolloutRecord(Resource):
    """One page of what the engine remembers of a rollout. It is written by the engine alone."""

    data: dict[str, str] | None = None
    """Readable JSON by name: head.json is about the rollout, clusters.json has a line for each cluster."""


class RolloutRevision(Resource):
    """A template that was rolled out, kept to be given back. It is written by the engine alone."""

    revision: int = Field(ge=0)
    """Counts up from 1 for each workload."""
    template: RawObject
    """The manifestWorkTemplate as it was."""
