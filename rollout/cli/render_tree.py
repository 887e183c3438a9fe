"""What does one rollout look like, down to its clusters? A tree, for a terminal or a file.

Pure: a `Tree` in, text out. As many clusters are named as there is room for; the others are counted.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from rich.console import Group, RenderableType
from rich.text import Text

from rollout.analysis.finish import Finish
from rollout.analysis.trees import MOST_CLUSTERS, ClusterNode, GroupNode, StageNode, Tree
from rollout.analysis.waits import Wait
from rollout.cli.ages import age
from rollout.cli.figures import SIGNS, Figures, standing
from rollout.cli.live import Row, columns, progress, signed, window
from rollout.cli.signs import in_ascii
from rollout.cli.verdict import Verdict
from rollout.cli.wording import at_and_in, many, since
from rollout.model.instants import rfc3339
from rollout.runtime.snapshots import StageSnapshot
from rollout.strategies.base import Phase

_USUAL_WAIT = ("InFlight", "Due")


@dataclass(frozen=True, slots=True)
class Frame:
    """A tree and the verdict on it; ``strategy`` is told as it was written."""

    tree: Tree
    verdict: Verdict
    strategy: str

    def draw(self, now: datetime, *, most: int = MOST_CLUSTERS) -> list[Text]:
        """The lines; ``now`` moves the countdowns, ``most`` clusters of a group are named."""
        facts = [(Text(f"{key}:", style="bold"), text) for key, text in self._facts(now) if text]
        return [*columns(facts), Text(), *columns([Row.header(), *self._rows(now, most)])]

    def fitting(self, now: datetime, height: int) -> list[Text]:
        """The lines, with as many clusters as a screen of this height has room for."""
        for most in range(MOST_CLUSTERS, -1, -1):
            lines = self.draw(now, most=most)
            if len(lines) <= height:
                break
        return lines[:height]

    def _facts(self, now: datetime) -> Iterator[tuple[str, Text]]:
        tree = self.tree
        yield "Name", Text(tree.key)
        held = since(tree.wait.since, now)
        status = signed(self.verdict.sign, self.verdict.reason)
        yield "Status", status.append(f" {held}" if held else "", style="none")
        yield "Message", Text(self.verdict.message)
        yield "Strategy", Text(self.strategy)
        yield "Revision", Text(f"{tree.number} ({tree.revision})" if tree.number else tree.revision)
        yield "Progress", progress(Figures(tree.members, Counter(tree.phases)))
        yield "Budget", Text(_budget(tree.stages))
        if not tree.done:
            yield "Ends when", Text(tree.wait.ends)
            yield "By itself", Text(at_and_in(tree.wait.until, now) if tree.wait.until else "")
            yield "Finish", Text(_finish(tree.finish, tree.wait, now))
        if tree.away_since is not None:
            gone = (
                f"not heard of since {rfc3339(tree.away_since)} ({age(now - tree.away_since)} ago)"
            )
            yield "Engine", Text(f"{gone}; `rollout run --state FILE` goes on", style="yellow")

    def _rows(self, now: datetime, most: int) -> Iterator[Row]:
        tree, several = self.tree, _several(self.tree.stages)
        soaked = tree.phases.get(Phase.SOAKED, 0)
        found = signed(self.verdict.sign, self.verdict.reason)
        yield Row(f"⟳ {tree.key}", found, f"{soaked}/{tree.members}")
        views = [_view(node, several=several) for node in tree.stages]
        before, shown, after = window(views)
        if before:
            yield Row("├──…", Text(f"{before} more passed", style="dim"))
        for i, view in enumerate(shown):
            node = tree.stages[before + i]
            is_last = i == len(shown) - 1 and not after
            stands = standing(view)
            counts = f"{node.account.phases.get(Phase.SOAKED, 0)}/{node.account.members}"
            branch, below = ("└──", "   ") if is_last else ("├──", "│  ")
            yield Row(
                f"{branch}□ {view.title}", signed(stands.sign, stands.word), counts, stands.info
            )
            yield from _inside(node, below, now, most)
        if after:
            yield Row("└──…", Text(f"{after} more", style="dim"))


def drawn(lines: Sequence[Text], *, plain: bool = False) -> RenderableType:
    """Lines as rich prints them; ``plain``: in ASCII."""
    return Group(*(_in_ascii(line) for line in lines) if plain else lines)


def _in_ascii(line: Text) -> Text:
    copy = line.copy()
    copy.plain = in_ascii(line.plain)
    return copy


def _several(stages: Sequence[StageNode]) -> bool:
    return len({node.account.placement for node in stages}) > 1


def _view(node: StageNode, *, several: bool) -> StageSnapshot:
    stage = node.account
    waits = stage.wait.reason if stage.wait is not None else ""
    return StageSnapshot(
        f"{stage.placement} {stage.title}" if several else stage.title,
        stage.members,
        {phase.value: n for phase, n in stage.phases.items()},
        stage.limit,
        stage.budget,
        stage.passed,
        "" if waits in _USUAL_WAIT else waits,
    )


def _budget(stages: Sequence[StageNode]) -> str:
    """What of the budget is used where the rollout stands: in the first stage that has not passed."""
    if not stages:
        return ""
    node = next((node for node in stages if not node.account.passed), stages[-1])
    if node.account.budget is None:
        return f"{many(node.failures, 'failure')}, any number may fail" if node.failures else ""
    return f"{node.failures} of {many(node.account.budget, 'failure')} used ({node.account.title})"


def _finish(finish: Finish, wait: Wait, now: datetime) -> str:
    if finish.at is None:
        return "" if finish.why.startswith(f"{wait.reason}:") else finish.why
    return f"{at_and_in(finish.at, now)} at the earliest"


def _inside(node: StageNode, below: str, now: datetime, most: int) -> Iterator[Row]:
    """The groups of a stage, or straight its clusters where it is one group."""
    if len(node.groups) == 1:
        yield from _clusters(node.groups[0], below, now, most)
        return
    open_groups = [group for group in node.groups if _is_of_interest(group)]
    left_out = len(node.groups) - len(open_groups)
    for i, group in enumerate(open_groups):
        is_last = i == len(open_groups) - 1 and not left_out
        branch, deeper = ("└──", "   ") if is_last else ("├──", "│  ")
        counts = f"{group.phases.get(Phase.SOAKED, 0)}/{group.members}"
        yield Row(f"{below}{branch}▫ {group.title}", _worst(group), counts)
        yield from _clusters(group, below + deeper, now, most)
    if left_out and open_groups:
        yield Row(f"{below}└──…", Text(f"{left_out} more {_groups(left_out)}", style="dim"))


def _groups(count: int) -> str:
    return "group" if count == 1 else "groups"


def _is_of_interest(group: GroupNode) -> bool:
    return bool(group.clusters)


def _worst(group: GroupNode) -> Text:
    """The phase that one looks at first: trouble, else what is going on."""
    order = (Phase.FAILED, Phase.LOST, Phase.FAILING, Phase.PROGRESSING, Phase.OUTDATED,
             Phase.SOAKING, Phase.WAITING, Phase.SOAKED, Phase.SKIPPED)  # fmt: skip
    phase = next((phase for phase in order if group.phases.get(phase)), Phase.SOAKED)
    return signed(SIGNS[phase], phase.value)


def _clusters(group: GroupNode, below: str, now: datetime, most: int) -> Iterator[Row]:
    shown = group.clusters[:most] if most < MOST_CLUSTERS else group.clusters
    counted: dict[Phase, int] = dict(group.phases)
    for cluster in shown:
        counted[cluster.phase] -= 1
    rest = "  ".join(
        f"{SIGNS[phase]} {counted[phase]} {phase.value.lower()}"
        for phase in SIGNS
        if counted.get(phase, 0) > 0
    )
    for i, cluster in enumerate(shown):
        branch = "└──" if i == len(shown) - 1 and not rest else "├──"
        status = signed(SIGNS[cluster.phase], cluster.phase.value)
        yield Row(f"{below}{branch} {cluster.name}", status, "", _info(cluster, now))
    if rest and shown:
        yield Row(f"{below}└──…", Text(), "", Text(rest, style="dim"))


def _info(cluster: ClusterNode, now: datetime) -> str:
    reason = (
        "" if cluster.reason in (cluster.phase.value, "Soaking", "Progressing") else cluster.reason
    )
    told = " ".join(part for part in (reason, since(cluster.since, now)) if part)
    left = (
        f"{age(max(cluster.until - now, timedelta(0)))} left" if cluster.until is not None else ""
    )
    return ", ".join(part for part in (told, left) if part)
