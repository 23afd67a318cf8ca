"""The graph of includes: the real compiler as a judge, and the cases that it decides otherwise than a glance."""

from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import examples
from hypothesis import given
from hypothesis import strategies as st

from opencoti_patches.build.depfiles import Made, objects
from opencoti_patches.build.includes import Graph, Include, includes_of
from opencoti_patches.series.says import reach_claims

FOLDERS = ("", "a/", "a/b/", "c/")
NAMES = ("x.h", "y.h", "z.h")
HEADERS = [f"{folder}{name}" for folder in FOLDERS for name in NAMES]


def graph(said: dict[str, str], *, near: bool = False) -> Graph:
    return Graph({path: includes_of(text.encode()) for path, text in said.items()}, near=near)


def test_every_form_of_an_include_is_read() -> None:
    text = b'#include "a.h"\n  # include <b/c.h> // why\n#ifdef X\n#import "a.h"\n#endif\n#include MACRO\n// #include "no.h"\n'
    text += b'#include_next <d.h>\r\nint include = 1; "#include"\n'
    assert includes_of(text) == (
        Include('"', "a.h"),
        Include("<", "b/c.h"),
        Include("", "MACRO"),
        Include("<", "d.h"),
    )


def test_a_name_in_quotes_is_the_file_beside() -> None:
    found = graph({"a/s.c": '#include "x.h"\n#include <y.h>\n', "a/x.h": "", "b/x.h": "", "a/y.h": "", "b/y.h": ""})
    assert found.includes("a/s.c") == ("a/x.h", "a/y.h", "b/y.h")


def test_a_file_that_is_not_always_there_hides_no_other() -> None:
    said = {"a/s.c": includes_of(b'#include "x.h"\n'), "a/x.h": (), "b/x.h": ()}
    assert Graph(said, uncertain=["a/x.h"]).includes("a/s.c") == ("a/x.h", "b/x.h")
    assert Graph(said, uncertain=["a/x.h"], near=True).includes("a/s.c") == ("a/x.h", "b/x.h")


def test_near_is_a_folder_above() -> None:
    said = {"lib/deep/s.c": '#include "x.h"\n', "lib/x.h": "", "other/x.h": "", "lib/sub/x.h": ""}
    assert graph(said).includes("lib/deep/s.c") == ("lib/sub/x.h", "lib/x.h", "other/x.h")
    assert graph(said, near=True).includes("lib/deep/s.c") == ("lib/x.h",)


def test_near_knows_the_library_of_c() -> None:
    said = {"s.c": "#include <string.h>\n", "t.c": '#include "string.h"\n', "other/string.h": ""}
    assert graph(said).includes("s.c") == ("other/string.h",)
    assert graph(said, near=True).includes("s.c") == ()
    assert graph(said, near=True).includes("t.c") == ("other/string.h",)


def test_a_shortest_way_is_kept_and_circles_end() -> None:
    found = graph(
        {"s.c": '#include "x.h"\n', "x.h": '#include "y.h"\n', "y.h": '#include "x.h"\n#include <z.h>\n', "z.h": ""}
    )
    assert found.closure(["s.c"]) == {"s.c": "", "x.h": "s.c", "y.h": "x.h", "z.h": "y.h"}
    assert found.including(["z.h"]) == {"s.c", "x.h", "y.h", "z.h"}


def test_what_nothing_answers_to_is_known() -> None:
    found = graph({"s.c": '#include "made.h"\n#include <stdio.h>\n#include NAME\n'})
    assert found.unanswered("s.c") == [Include('"', "made.h"), Include("", "NAME")]


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
@given(seed=st.integers(0, 2**32))
@examples(15)
def test_nothing_is_missed_that_the_compiler_reads(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    """Headers of the same names in several folders, any order of -I: the closure has what cc says, and ``including``
    is its reverse."""
    root, pick = tmp_path_factory.mktemp("tree"), random.Random(seed)
    texts = {}
    for path in [*pick.sample(HEADERS, 8), "a/s.c", "a/b/t.c", "u.c"]:
        lines = []
        for _ in range(pick.randint(0, 3)):
            name = pick.choice(("", "", "b/", "../", "./")) + pick.choice(NAMES)
            line = pick.choice((f'#include "{name}"', f"# include <{name}>"))
            lines.append(f"#if __has_include({line.split('include ')[1]})\n{line}\n#endif")
        texts[path] = "#pragma once\n" + "\n".join(lines) + "\n"
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(texts[path])
    (root / "a/b").mkdir(parents=True, exist_ok=True)
    found = graph(texts)
    order = [f"-I{root / folder}" for folder in pick.sample(FOLDERS, 4) if (root / folder).is_dir()]
    for source in ("a/s.c", "a/b/t.c", "u.c"):
        done = subprocess.run(["cc", "-MM", *order, root / source], capture_output=True, text=True, check=True)
        names = done.stdout.replace("\\\n", " ").split()[1:]
        read = {str(Path(name).resolve().relative_to(root.resolve())) for name in names}
        assert read <= found.closure([source]).keys()
        assert all(source in found.including([path]) for path in read)


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_a_depfile_names_its_files_to_the_letter(tmp_path: Path) -> None:
    tree, build = tmp_path / "the tree", tmp_path / "build"
    for folder in (tree / "in", build):
        folder.mkdir(parents=True)
    names = ("with space.h", "dol$lar.h", "ha#sh.h", "in/plain.h")
    for name in names:
        (tree / name).write_text("int x;\n")
    (tree / "s.c").write_text("".join(f'#include "{name}"\n' for name in names) + "#include <stdio.h>\n")
    subprocess.run(["cc", "-MD", "-MP", "-c", "-o", "s.o", "../the tree/s.c"], cwd=build, check=True)
    assert objects(build, build, tree) == [Made("s.c", frozenset({"s.c", *names}))]


@pytest.mark.parametrize(
    ("header", "claims"),
    [
        ("Say\n\nReach: host, cuda\n", [(3, {"host", "cuda"}, False, "")]),
        ("Say\n\nreach: None\n", [(3, set(), False, "")]),
        (
            "Say\n\nOrder: after 0033. Cosmocc-only edit;\nCUDA DSO unchanged (no kernel).\n",
            [(3, None, True, ""), (4, None, False, "cuda")],
        ),
        ("Say\n\nHost only.\n", [(3, None, True, "")]),
        (
            "Say (host-only)\n\nThe Vulkan\nlibrary stays byte-identical.\n",
            [(1, None, True, ""), (3, None, False, "vulkan")],
        ),
        ("Say\n\nIt copies the host only when it must. On the host only one is read.\n", []),
        ("Say\n\nThe CUDA library changes; paths byte-identical to before.\n", []),
    ],
)
def test_claims_are_found_where_they_are_ones(
    header: str, claims: list[tuple[int, set[str] | None, bool, str]]
) -> None:
    assert [(c.line, c.only, c.host_only, c.never) for c in reach_claims(header.encode())] == claims
