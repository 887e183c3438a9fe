"""The import rules of docs/architecture.md, enforced with the standard library."""

import ast
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1] / "rollout"

# Package -> what it imports besides itself, in layer order.
CORE = {"errors", "model"}
ALLOWED: dict[str, set[str]] = {
    "errors": set(),
    "clock": set(),
    "shipped": set(),
    "pytest_plugin": {*CORE, "account", "api", "clock", "sim"},
    "model": {"errors"},
    "placement": CORE,
    "strategies": CORE,
    "calendars": {"model"},
    "measuring": {*CORE, "placement"},
    "values": {*CORE, "placement", "strategies"},
    "plugins": {*CORE, "placement", "strategies"},
    "rollouts": {"model", "strategies", "values"},
    "planning": {
        *CORE,
        "placement",
        "strategies",
        "rollouts",
        "calendars",
        "measuring",
        "values",
    },
    "api": {*CORE, "calendars", "measuring", "values"},
    "fleet": {
        "model",
        "rollouts",
        "placement",
        "strategies",
        "calendars",
        "measuring",
        "values",
        "planning",
        "api",
    },
    "account": {*CORE, "strategies", "rollouts", "planning", "fleet"},
    "hub": {*CORE, "clock", "api"},
    "runtime": {
        *CORE,
        "rollouts",
        "measuring",
        "clock",
        "planning",
        "providers",
        "fleet",
        "hub",
        "strategies",
        "plugins",
        "placement",
        "api",
        "settings",
    },
    "providers": {
        *CORE,
        "placement",
        "clock",
        "plugins",
        "measuring",
        "api",
        "hub",
    },
    "settings": {*CORE, "api"},
    "sim": {
        *CORE,
        "rollouts",
        "measuring",
        "clock",
        "plugins",
        "account",
        "planning",
        "fleet",
        "hub",
        "runtime",
        "api",
        "strategies",
        "placement",
    },
    "analysis": {
        *CORE,
        "rollouts",
        "clock",
        "plugins",
        "account",
        "placement",
        "strategies",
        "calendars",
        "values",
        "planning",
        "api",
        "fleet",
        "hub",
        "runtime",
        "sim",
    },
    "operate": {*CORE, "values", "rollouts", "planning", "api", "hub", "strategies"},
    "dashboard": {
        *CORE,
        "clock",
        "account",
        "strategies",
        "rollouts",
        "calendars",
        "measuring",
        "planning",
        "api",
        "fleet",
        "hub",
        "operate",
        "runtime",
        "sim",
        "analysis",
    },
    "testing": {"model", "placement", "strategies"},
}
BESIDE = {
    "errors",
    "clock",
    "settings",
    "plugins",
    "pytest_plugin",
    "shipped",
    "testing",
}  # modules, not layers
TOP = {"cli", "__init__", "__main__"}
PURE = {
    "model",
    "placement",
    "strategies",
    "calendars",
    "measuring",
    "values",
    "rollouts",
    "planning",
}
FORBIDDEN_IN_PURE = {
    "time",
    "threading",
    "asyncio",
    "logging",
    "random",
    "socket",
    "os",
    "sqlite3",
    "subprocess",
}
VALUES_IN_PURE = {"msgspec"}
"""Everywhere: what is made for each event or cluster is a `msgspec.Struct` (ADR 0042), a plain value."""
THIRD_PARTY_IN_PURE = {
    "calendars/schedules.py": {"cronsim"},
    "calendars/zones.py": {"tzdata"},  # constants that come as files
    # Reading CEL is a library's work; everything else there is ours.
    "placement/cel/text.py": {"re2"},
    "placement/cel/parsing.py": {"cel_expr_python"},
    # Expressions of people: RE2 takes time that grows with the text alone.
    "planning/templates/pods.py": {"re2"},
}
ONLY_IN = {
    "apscheduler": {"runtime/timers.py"},
    "opentelemetry": {"runtime/otel.py"},
    "kubernetes": {"hub/kube_client.py"},
    "asyncio": {
        "hub/kube_access.py",
        "hub/kube_loop.py",
        "hub/kube_session.py",
        "runtime/server.py",
        "hub/kube_calls.py",
        "hub/kube_window.py",
        "hub/kube_reflector.py",
        "dashboard/answers.py",
        "dashboard/serve.py",
        "dashboard/stream.py",
        "providers/measurer.py",
        "providers/deliverer.py",
        "providers/secrets.py",
        "providers/workers.py",
    },
    "aiohttp": {
        "hub/kube_access.py",
        "hub/kube_answers.py",
        "hub/kube_session.py",
        "runtime/server.py",
        "providers",
    },
    "jsonpath_rfc9535": {"providers/jsonpath.py", "cli/choosing.py"},
    "iregexp_check": {"providers/jsonpath.py"},
    "sqlite3": {"hub"},
    "pydantic": {"api", "sim/scenario.py", "sim/scenario_file.py", "settings.py"},
    "prometheus_client": {"runtime/metrics.py"},
    "click": {"cli"},
    "pytest": {"pytest_plugin.py"},
    "rich": {"cli"},
    "starlette": {"dashboard"},
    "uvicorn": {"dashboard/serve.py"},
    "h11": {"dashboard/serve.py"},
    "jinja2": {"dashboard"},
    "markupsafe": {"dashboard"},
}


def _imports(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path}: relative import"
            found.add(node.module)
    return found


def _of_ours(source: set[str]) -> set[str]:
    """The packages of ours among what is imported."""
    return {name.split(".")[1] for name in source if name.startswith("rollout.")}


def problems(path: Path, source: set[str]) -> list[str]:
    """What is wrong with the imports of a module at ``path`` (relative to the package)."""
    package = path.with_suffix("").parts[0]
    tops = {name.split(".")[0] for name in source}
    found: list[str] = []
    if package not in TOP:
        ours = _of_ours(source) - ALLOWED[package] - {package}
        found += [f"imports rollout.{p}" for p in sorted(ours)]
    if package in PURE:
        found += [f"imports {name}" for name in sorted(tops & FORBIDDEN_IN_PURE)]
        allowed = {"rollout", *VALUES_IN_PURE, *THIRD_PARTY_IN_PURE.get(path.as_posix(), set())}
        third = tops - _standard() - allowed
        found += [f"imports third-party {name}" for name in sorted(third)]
    for name, places in ONLY_IN.items():
        here = any(path.as_posix() == place or package == place for place in places)
        if name in tops and not here:
            found.append(f"imports {name}, which belongs to {sorted(places)}")
    return found


def _standard() -> frozenset[str]:
    return sys.stdlib_module_names


@pytest.mark.parametrize("path", sorted(ROOT.rglob("*.py")), ids=lambda p: str(p.relative_to(ROOT)))
def test_a_module_imports_only_layers_below_it(path: Path) -> None:
    assert problems(path.relative_to(ROOT), _imports(path)) == []


def test_a_workload_kind_may_be_one_module_of_fleet() -> None:
    """docs/architecture.md says so of Bulletins, which are rolled out in a story."""
    bulletins = Path(__file__).parent / "support/bulletins.py"

    assert problems(Path("fleet/bulletins.py"), _imports(bulletins)) == []


def test_a_package_may_import_only_what_it_imports() -> None:
    drawn: dict[str, set[str]] = {}
    for path in ROOT.rglob("*.py"):
        package = path.relative_to(ROOT).with_suffix("").parts[0]
        drawn.setdefault(package, set()).update(_of_ours(_imports(path)) - {package})

    assert {package: drawn[package] for package in drawn.keys() - TOP} == ALLOWED


@pytest.mark.parametrize(
    ("path", "source"),
    [
        pytest.param("strategies/step.py", {"time"}, id="a clock in the core"),
        pytest.param("strategies/step.py", {"rollout.planning.plan"}, id="an import upwards"),
        pytest.param("planning/plan.py", {"pydantic"}, id="a framework in the core"),
        pytest.param("fleet/fleet.py", {"rollout.hub.base"}, id="I/O in the fleet"),
        pytest.param("runtime/engine.py", {"apscheduler.job"}, id="APScheduler outside timers"),
    ],
)
def test_a_breach_of_the_rules_is_found(path: str, source: set[str]) -> None:
    assert problems(Path(path), source)


@pytest.mark.parametrize(
    ("path", "pattern"),
    [
        pytest.param(ROOT.parent / "docs" / "architecture.md", r"^([a-z]+)  +\S", id="docs"),
        pytest.param(ROOT / "__init__.py", r"^\* ``([a-z]+)``", id="package"),
    ],
)
def test_the_map_of_the_packages_names_each_below_all_that_it_imports(
    path: Path, pattern: str
) -> None:
    layers = re.findall(pattern, path.read_text(), re.MULTILINE)
    assert sorted(layers) == sorted(p.name for p in ROOT.iterdir() if (p / "__init__.py").exists())
    for i, layer in enumerate(layers):
        assert ALLOWED.get(layer, set()) - BESIDE <= set(layers[:i]), layer
