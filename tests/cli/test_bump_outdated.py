"""What ``bump`` says of patches that git takes, though upstream calls things otherwise by now."""

from __future__ import annotations

from .conftest import Diff
from .test_bump import CODE, Carry, carry, edit, statuses  # noqa: F401

QUIET = "static int quiet(void) {\n" + "".join(f"    step_{n}();\n" for n in range(9)) + "}\n"
OLD = CODE + QUIET
STEP = "    step_4();\n"


def test_lines_that_use_a_renamed_function_are_named(carry: Carry, diff: Diff) -> None:  # noqa: F811
    patch = diff("a.c", OLD, edit(OLD, (STEP, f"{STEP}    log_it(9);\n")))
    plain = diff("a.c", OLD, edit(OLD, ("    step_8();\n", "    step_9();\n")))
    run = carry(
        {"a.c": OLD}, {"a.c": OLD.replace("log_it(y)", "log_value(y)")}, {"0001-a.patch": patch, "0002-b.patch": plain}
    )
    done = run("bump", "new", "--json").json
    assert [row["status"] for row in done["patches"]] == ["kept", "renumbered"]
    assert done["notes"] == ["0001-a.patch has 'log_it' in a.c, which upstream made 'log_value' there"]
    assert (run.root / "patches/0001-a.patch").read_text() == patch


def test_lines_that_call_in_the_old_form_are_named(carry: Carry, diff: Diff) -> None:  # noqa: F811
    patch = diff("a.c", OLD, edit(OLD, (STEP, f"{STEP}    log_it(y);\n")))
    run = carry({"a.c": OLD}, {"a.c": "// new\n" + OLD.replace("(y)", "(y, 1)")}, {"0001-a.patch": patch})
    done = run("bump", "new", "--dry-run")
    assert "note: 0001-a.patch has 'y)' in a.c, which upstream made 'y, 1)' there" in done.out


def test_a_name_that_is_gone_without_a_successor_is_named(carry: Carry, diff: Diff) -> None:  # noqa: F811
    old = OLD.replace("step_0", "old_limit")
    patch = diff("a.c", old, edit(old, ("    step_8();\n", "    step_8(old_limit);\n")))
    run = carry({"a.c": old}, {"a.c": edit(old, ("    old_limit();\n", ""))}, {"0001-a.patch": patch})
    done = run("bump", "new", "--json").json
    assert [row["status"] for row in done["patches"]] == ["renumbered"]
    assert done["notes"] == ["0001-a.patch: its lines use old_limit, which upstream took out of these files"]


def test_nothing_is_said_where_nothing_changed(carry: Carry, diff: Diff) -> None:  # noqa: F811
    patch = diff("a.c", OLD, edit(OLD, (STEP, f"{STEP}    log_it(9);\n")))
    more = OLD + "static int more(void) {\n    log_it(1);\n    return 0;\n}\n"
    run = carry({"a.c": OLD, "b.c": "x"}, {"a.c": more, "b.c": "y"}, {"0001-a.patch": patch})
    assert statuses(run, "new", "--dry-run") == {"0001-a.patch": "kept"}
    assert run("bump", "new", "--json").json["notes"] == []
