"""Which kinds of workload does the suite know, and who changes them in a history?"""

from collections.abc import Callable, Mapping
from random import Random

from rollout.hub.base import Hub
from tests.safety.addon_hands import AddOnHands
from tests.safety.addons import AddOns
from tests.safety.replicaset_hands import ReplicaSetHands
from tests.safety.replicasets import ReplicaSets
from tests.safety.setting import Setting
from tests.safety.subject import Editor, Subject

Soon = Callable[[Callable[[], None]], None]
SUBJECTS: Mapping[str, Subject] = {s.name: s for s in (ReplicaSets(), AddOns())}
EDITORS: Mapping[str, Callable[[Setting, Hub, Random, Soon], Editor]] = {
    "replicaset": ReplicaSetHands,
    "addon": AddOnHands,
}
