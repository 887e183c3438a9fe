"""Keeps the faults about calendars: when may a cluster be touched?"""

from tests.safety.mutating import Mutant, fault

STEP = "strategies.step"

OF_WINDOWS: tuple[Mutant, ...] = (
    fault(
        "S21",
        "the closed are touched",
        (STEP, "filterfalse(shut.__contains__, census.waiting()) if shut else", ""),
        focus="windows",
    ),
    fault(
        "S21",
        "the closed are overwritten",
        (STEP, "[cluster for cluster in old if cluster not in shut] if shut else old", "old"),
        focus="windows",
    ),
    fault(
        "S21",
        "the closed lose what they have",
        (
            "planning.removals",
            "[cluster for cluster in leaving if cluster not in shut.waits]",
            "list(leaving)",
        ),
        kinds=("replicaset",),
        focus="windows",
    ),
    fault(
        "S21",
        "the closed lose their add-on",
        (
            "planning.addons_install",
            "{cluster: uid for cluster, uid in leaving.items() if cluster not in shut.waits}",
            "dict(leaving)",
        ),
        kinds=("addon",),
        focus="windows",
    ),
    fault(
        "S21",
        "what somebody changed in a closed cluster is restored",
        ("planning.replicasets", "if cluster in shut.waits:", "if False:"),
        kinds=("replicaset",),
        focus="windows",
    ),
    fault(
        "S21",
        "the closed go back",
        ("strategies.retreat", "if standing.cluster not in shut.waits", ""),
        kinds=("replicaset",),
        focus="windows",
    ),
    fault(
        "S21",
        "of several calendars the first one counts",
        ("calendars.calendar", "for other in others:", "for other in ():"),
        focus="windows",
    ),
    fault(
        "S21",
        "every cluster goes by one clock",
        (
            "calendars.calendar",
            'return said.replace(".", "/") if said else self.zone',
            "return self.zone or DEFAULT_ZONE",
        ),
        focus="windows",
    ),
    fault(
        "S21",
        "an override never ends",
        (
            "model.intents",
            "until if until is not None and now < until <= now + LONGEST_OVERRIDE else None",
            "until",
        ),
        focus="windows",
    ),
    fault(
        "S21",
        "a calendar that cannot be read closes nobody",
        ("fleet.closings", "and not was.is_open", "and False"),
        focus="windows",
    ),
    fault(
        "S21",
        "a calendar that could never be read closes nobody",
        ("fleet.calendars", "        return NO_ZONE\n", "        return None\n"),
        focus="windows",
    ),
    fault(
        "S21",
        "a restart forgets what a calendar said last",
        ("fleet.calendars", "if not last.problems:", "if False:"),
        focus="windows",
    ),
)
