"""Files, directories and standard input: every object, and every file that could not be read."""

import io
import os
import threading
from pathlib import Path

import pytest

from rollout.api.load import LoadError, load, load_text


def test_directories_are_read_sorted_and_only_asked_for_recursively(tmp_path: Path) -> None:
    (tmp_path / "b.yaml").write_text("kind: B\n")
    (tmp_path / "a.yml").write_text("kind: A\n")
    (tmp_path / "c.json").write_text('{"kind": "C"}')
    (tmp_path / "notes.txt").write_text("kind: No\n")
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "d.yaml").write_text("kind: D\n")

    assert [o["kind"] for o in load([tmp_path]).objects] == ["A", "B", "C"]
    assert [o["kind"] for o in load([tmp_path], recursive=True).objects] == ["A", "B", "C", "D"]


def test_documents_say_where_they_begin(tmp_path: Path) -> None:
    file = tmp_path / "all.yaml"
    file.write_text("# head\nkind: A\n---\n\nkind: B\n")
    found = load([str(file)]).documents
    assert [(d.source, d.index) for d in found] == [(f"{file}:2", 0), (f"{file}:5", 1)]


TEXTS = {
    "yaml": "# head\nkind: A\nspec:\n  list:\n    - x: 1\n    - x: 2\n  map: {a.b/c: d}\n",
    "a list": "kind: List\nitems:\n- kind: A\n  spec:\n    list:\n    - x: 1\n    - x: 2\n",
    "json": '{"kind": "A",\n"spec": {\n"list": [{"x": 1},\n{"x": 2}]}}',
    "the second": "kind: B\n---\nkind: A\nspec:\n  list: [{x: 1},\n    {x: 2}]\n",
    "a merge": "kind: A\nspec:\n  <<: {list: [1, 2]}\n  map: 1\n",
}


@pytest.mark.parametrize(
    ("text", "path", "line"),
    [
        ("yaml", "spec", 3),
        ("yaml", "spec.list[1].x", 6),
        ("yaml", "spec.map[a.b/c]", 7),
        ("yaml", "spec.list[2]", 4),
        ("yaml", "spec.list[1].y.z", 6),
        ("yaml", "spec.lost", 3),
        ("yaml", "lost", 2),
        ("yaml", "", 2),
        ("a list", "spec.list[1].x", 7),
        ("json", "spec.list[1].x", 4),
        ("the second", "spec.list[1].x", 6),
        ("a merge", "spec.list[1]", 2),
    ],
)
def test_a_field_has_its_line_or_that_of_what_is_around_it(text: str, path: str, line: int) -> None:
    document = load_text(TEXTS[text], "f")[0][-1]

    assert document.source_of(path) == f"f:{line}"


def test_standard_input_may_be_yaml_or_json() -> None:
    for text in (
        "kind: A\n---\nkind: B\n",
        '{"kind": "A"} {"kind": "B"}',
        "{kind: A}\n---\nkind: B\n",
    ):
        found = load(["-"], stdin=io.StringIO(text))
        assert [o["kind"] for o in found.objects] == ["A", "B"]
        assert found.documents[0].source == "stdin:1"
        assert found.errors == ()


def test_what_cannot_be_read_hides_nothing(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("kind: [\n---\nkind: Good\n")
    (tmp_path / "latin.yaml").write_bytes(b"kind: A\nname: \xe9\n")
    (tmp_path / "empty").mkdir()
    found = load([tmp_path / "nowhere.yaml", tmp_path / "empty", tmp_path])
    assert [document.obj["kind"] for document in found.documents] == ["Good"]
    told = [str(e).removeprefix(f"{tmp_path}/") for e in found.errors]
    assert told[0] == "nowhere.yaml: cannot be read: no such file or directory"
    assert told[1] == "empty: holds no *.json, *.yaml, *.yml"
    assert told[2].startswith("bad.yaml:2: not YAML: ")
    assert told[3] == "latin.yaml:2: is not UTF-8 text"


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_bytes(b"\xef\xbb\xbfkind: A\n")
    assert load([tmp_path]).objects == ({"kind": "A"},)


def test_lists_are_taken_apart() -> None:
    text = """apiVersion: v1
kind: List
items:
- kind: A
  apiVersion: x/v1
- kind: B
"""
    documents, errors = load_text(text, "f.yaml")
    assert [(d.obj["kind"], d.source, d.index) for d in documents] == [
        ("A", "f.yaml:4", 0),
        ("B", "f.yaml:6", 1),
    ]
    assert errors == []


def test_the_items_of_a_typed_list_have_its_kind() -> None:
    text = '{"apiVersion": "g/v1", "kind": "PlacementList", "items": [{"metadata": {"name": "p"}}]}'
    documents, _ = load_text(text, "f.json")
    assert documents[0].obj == {
        "apiVersion": "g/v1",
        "kind": "Placement",
        "metadata": {"name": "p"},
    }


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("- a\n", LoadError("f.yaml:1", "is not an object with apiVersion, kind and metadata")),
        (
            "just text\n",
            LoadError("f.yaml:1", "is not an object with apiVersion, kind and metadata"),
        ),
        (
            "kind: List\nitems: [5]\n",
            LoadError("f.yaml:1", "an item of this list is not an object"),
        ),
        ("a: 1\na: 2\n", LoadError("f.yaml:2", "the key 'a' is there twice")),
    ],
)
def test_what_is_no_object_is_an_error(text: str, error: LoadError) -> None:
    assert load_text(text, "f.yaml") == ([], [error])


@pytest.mark.parametrize("device", ["/dev/full", "/dev/zero", "/dev/null"])
def test_a_device_is_not_read_since_it_may_have_no_end(device: str) -> None:
    (error,) = load(device).errors

    assert str(error) == f"{device}: is a device, and no file"


def test_a_pipe_is_read(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=("kind: A\r\n---\nkind: B\n",))
    writer.start()

    found = load(pipe)
    writer.join()

    assert [document.obj for document in found.documents] == [{"kind": "A"}, {"kind": "B"}]


def test_a_file_larger_than_anybody_writes_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("kind: A # " + "x" * (1 << 20))
    monkeypatch.setattr("rollout.api.load.MOST_BYTES", 1 << 20)

    (error,) = load(path).errors

    assert error.message == "is larger than 1 MiB"
