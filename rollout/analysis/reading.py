"""What does a hub hold, whether or not it knows all our kinds?"""

from rollout.errors import Gone
from rollout.hub.base import Hub
from rollout.model.kinds import Kind, Obj


def stored(hub: Hub, kind: Kind) -> tuple[Obj, ...]:
    """All objects of a kind; none where the hub does not know the kind."""
    try:
        return hub.list(kind).items
    except Gone:
        return ()
