"""One sentence for what each verb does, for the command line and the dashboard."""

from collections.abc import Mapping

EFFECTS: Mapping[str, str] = {
    "pause": "Pause a workload: nothing of it is touched or removed until it is resumed.",
    "resume": "Let a paused workload go on.",
    "abort": "Stop rolling out the current revision.",
    "retry": "Retry failed clusters (all limits still apply).",
    "undo": "Roll the clusters that got the current revision back.",
    "approve": "Approve a gate of the revision that is being rolled out.",
    "reject": "Reject the revision that is being rolled out.",
    "skip": "Exclude clusters from the rollout of the current revision.",
    "hold": "Leave clusters untouched until they are released.",
    "release": "Let held clusters of a workload take part again.",
    "freeze": "Freeze every rollout on the hub: nothing is touched or removed.",
    "unfreeze": "End a freeze: rollouts on the hub go on.",
    "override": "Let a workload ignore calendars for a limited time.",
}
