"""One direction of imports, and one door each to git, processes and the screen: read from the code."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import opencoti_patches

ROOT = Path(opencoti_patches.__file__).parent
# a package imports only what stands below it
ORDER = [
    *("cli", "commands", "report", "release", "smoke", "build", "stack", "carry", "tree", "plan", "series", "base"),
    *("doors", "core"),
]
FOREIGN = {
    "click": {"cli", "commands"},
    "git": {"doors.git"},
    "subprocess": {"doors.proc"},
    "unidiff": {"series", "plan"},
    "unearth": {"base", "doors.net"},
    "jinja2": {"report.page"},
}
LIMIT = 400


def modules() -> Iterator[tuple[str, Path]]:
    for path in sorted(ROOT.rglob("*.py")):
        yield ".".join(path.relative_to(ROOT).with_suffix("").parts), path


def imports(path: Path) -> Iterator[tuple[str, int]]:
    """Every module name that a file imports, wherever in it, but for what only the type checker reads."""
    tree = ast.parse(path.read_text("utf-8"))
    skipped = {
        id(child)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        for child in ast.walk(node)
    }
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module, node.lineno
            yield from ((f"{node.module}.{alias.name}", node.lineno) for alias in node.names)


def test_a_package_imports_only_what_stands_below_it() -> None:
    wrong = []
    for name, path in modules():
        own = name.split(".")[0]
        if own not in ORDER:
            assert own in ("__init__", "__main__"), f"{name} has no place in the order"
            continue
        for target, line in imports(path):
            parts = target.split(".")
            if parts[0] != "opencoti_patches" or len(parts) < 2 or parts[1] not in ORDER:
                continue
            if ORDER.index(parts[1]) < ORDER.index(own):
                wrong.append(f"{name}:{line} imports {target}")
    assert wrong == []


def test_no_file_imports_one_that_comes_back_to_it() -> None:
    files = dict(modules())
    uses = {
        name: {t.removeprefix("opencoti_patches.") for t, _ in imports(at)} & {*files} for name, at in files.items()
    }
    while bottom := {name for name, below in uses.items() if not below}:
        uses = {name: below - bottom for name, below in uses.items() if name not in bottom}
    assert sorted(uses) == []  # circles, and what stands on one


def test_each_door_is_the_only_one() -> None:
    wrong = []
    for name, path in modules():
        for target, line in imports(path):
            top = target.split(".")[0]
            allowed = FOREIGN.get(top)
            if allowed is not None and not any(name == a or name.startswith(a + ".") for a in allowed):
                wrong.append(f"{name}:{line} imports {target}")
    assert wrong == []


def test_a_warm_check_pays_for_no_heavy_import() -> None:
    """What ``cli`` and ``check`` import at their top, followed through the package."""
    heavy = {"git", "unidiff", "unearth", "rich", "httpx", "httpx2", "requests", "asyncio", "difflib", "email"}
    seen: set[str] = set()
    todo = [
        "cli",
        "commands.check",
        "commands.common",
        "plan.strict",
        "base.bootstrap",
        "report.checked",
        "series.lock",
    ]
    reached = set()
    while todo:
        name = todo.pop()
        if name in seen:
            continue
        seen.add(name)
        path = ROOT.joinpath(*name.split("."))
        path = path.with_suffix(".py") if path.with_suffix(".py").exists() else path / "__init__.py"
        tree = ast.parse(path.read_text("utf-8"))
        for node in tree.body:
            names = (
                [node.module or ""]
                if isinstance(node, ast.ImportFrom)
                else [a.name for a in node.names]
                if isinstance(node, ast.Import)
                else []
            )
            for target in names:
                if target.startswith("opencoti_patches."):
                    todo.append(target.removeprefix("opencoti_patches."))
                else:
                    reached.add(target.split(".")[0])
    assert len(seen) > 10
    assert reached & heavy == set()


def test_files_stay_readable() -> None:
    long = {name: n for name, path in modules() if (n := len(path.read_text("utf-8").splitlines())) > LIMIT}
    assert long == {}
