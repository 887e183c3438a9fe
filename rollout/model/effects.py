"""What does each verb of a person come to, in one sentence? The same on the command line and on a page."""

from collections.abc import Mapping

EFFECTS: Mapping[str, str] = {
    "pause": "Touch and remove nothing of a workload until it is resumed.",
    "resume": "Let a paused workload go on.",
    "abort": "Stop rolling out the current revision.",
    "retry": "Retry failed clusters (all limits still apply).",
    "undo": "Roll the clusters that got the current revision back.",
    "approve": "Approve a gate of the revision that is being rolled out.",
    "reject": "Reject the revision that is being rolled out.",
    "skip": "Exclude clusters from the rollout of the current revision.",
    "hold": "Leave clusters untouched until they are released.",
    "release": "Let held clusters of a workload take part again.",
    "freeze": "Stop the line: touch and remove nothing on the whole hub.",
    "unfreeze": "End a freeze: let the line run again.",
    "override": "Set aside for a workload, for a while, what keeps it back.",
}
