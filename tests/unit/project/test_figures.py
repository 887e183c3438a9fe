"""The limits of size and form that the code keeps, measured on its syntax trees."""

import ast
from collections import Counter

from tests.support.syntax import ROOT, Module, length, modules

LONGEST_MODULE = 400
LONGEST_FUNCTION = 40
MOST_FIELDS = 4  # of a value that may be given by place
HEADERS = 0.10  # docstrings and imports of modules, of all lines
TESTS = 1.42  # lines of tests for each line of the package; ADR 0048

MOST_BY_PLACE = 4  # arguments of a call
TAKE_ANY_NUMBER = {"_number", "etag", "partial", "log.log", "PagedTable"}
OF_OTHERS = {"self._api.update_params_for_auth"}  # its parameters are documented by place

# What does not keep a limit yet. These lists only ever get shorter.
LONG_MODULES: set[str] = set()
LONG_FUNCTIONS: set[str] = set()


def form(each: ast.ClassDef) -> str:
    """How a class is declared to be a value, as written; "" where it is none."""
    words = [*each.decorator_list, *each.bases, *each.keywords]
    text = ", ".join(map(ast.unparse, words))
    return text if text.startswith(("dataclass", "Struct")) else ""


def by_place(module: Module) -> set[str]:
    """Values of which too many fields can be given by place."""
    found: set[str] = set()
    for each in module.classes():
        if form(each) and "kw_only=True" not in form(each):
            fields = [ast.unparse(n.annotation) for n in each.body if isinstance(n, ast.AnnAssign)]
            if "KW_ONLY" in fields:
                fields = fields[: fields.index("KW_ONLY")]
            if sum("ClassVar" not in field for field in fields) > MOST_FIELDS:
                found.add(each.name)
    return found


def test_no_module_is_longer_than_can_be_read_at_once() -> None:
    assert {m.path for m in modules() if m.lines > LONGEST_MODULE} <= LONG_MODULES


def test_no_function_is_longer_than_a_page() -> None:
    found = {
        f"{module.path} {function.name}"
        for module in modules()
        for function in module.functions()
        if length(function) > LONGEST_FUNCTION
    }
    assert found <= LONG_FUNCTIONS


def test_a_name_of_a_class_or_type_alias_stands_once_in_the_package() -> None:
    found = Counter(
        name.lstrip("_")
        for module in modules()
        for name in (*(each.name for each in module.classes()), *module.aliases())
    )
    assert {"Engine", "EventSink", "StatusAnswer"} <= found.keys()
    assert {name for name, times in found.items() if times > 1} == set()


def test_values_of_many_fields_are_made_by_keyword() -> None:
    assert {name for module in modules() for name in by_place(module)} == set()


def test_what_is_a_struct_outside_of_decoders_cannot_be_changed() -> None:
    structs = {
        each.name: form(each)
        for module in modules()
        for each in module.classes()
        if form(each).startswith("Struct")
    }
    assert {"Ref", "Event", "Line", "Observation", "Patch"} <= structs.keys()
    assert {name for name, text in structs.items() if "frozen=True" not in text} == set()


def test_a_call_names_all_but_its_first_arguments() -> None:
    found = {
        f"{module.path}:{node.lineno}"
        for module in modules()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call) and len(node.args) > MOST_BY_PLACE
        if ast.unparse(node.func).partition("[")[0] not in TAKE_ANY_NUMBER | OF_OTHERS
    }
    assert found == set()


def test_headers_take_a_small_part_of_the_code() -> None:
    headers = sum(module.header() for module in modules())
    assert headers <= HEADERS * sum(module.lines for module in modules())


def test_the_tests_are_not_much_larger_than_the_package() -> None:
    tests = sum(len(path.read_text().splitlines()) for path in (ROOT / "tests").rglob("*.py"))
    assert tests <= TESTS * sum(module.lines for module in modules())
