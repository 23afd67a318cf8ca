"""``bump`` where upstream renamed files: the patch goes along, for certain where only one file can be meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import Diff
from .test_bump import Carry, carry

__all__ = ["carry"]

OLD = "".join(f"int a_line_of_its_own_{n};\n" for n in range(1, 31))
OURS = OLD.replace("int a_line_of_its_own_20;\n", "int ours;\n")
NEW = "int on_top;\n" + OLD.replace("_25", "_by_upstream")


@pytest.mark.parametrize("style", ["git", "plain", "index"])
def test_a_patch_goes_along_with_a_renamed_file(carry: Carry, diff: Diff, style: str) -> None:
    patch = diff("old/f.c", OLD, OURS)
    if style != "git":
        top = "Index: p/old/f.c\n" + "=" * 67 + "\n" if style == "index" else ""
        patch = patch.replace("diff --git a/old/f.c b/old/f.c\n", top)
        patch = patch.replace("--- a/old", "--- p.orig/old").replace("+++ b/old", "+++ p/old")
    run = carry({"old/f.c": OLD}, {"src/new.c": NEW}, {"0001-f.patch": patch})
    (row,) = run("bump", "new", "--json").json["patches"]
    assert row["status"] == "regenerated", row
    assert {"file": "src/new.c", "hunk": 0, "how": "renamed by upstream, was old/f.c"} in row["hunks"]
    text = (run.root / "patches/0001-f.patch").read_text()
    assert "/src/new.c\n" in text and text.count("old/f.c") == 1  # in the note that says so
    assert run("check", "--no-offset").code == 0


@pytest.mark.parametrize(
    "stat", [" old/f.c | 2 +-\n 1 file changed, 1 insertion(+), 1 deletion(-)\n", " old/f.c |    2 +-\n"]
)
def test_the_diffstat_of_a_mail_names_the_file_as_it_is(carry: Carry, diff: Diff, stat: str) -> None:
    head = f"From: A <a@example.com>\nSubject: [PATCH] f\n\nWhy.\n---\n{stat}\n"
    run = carry({"old/f.c": OLD}, {"src/new.c": NEW}, {"0001-f.patch": head + diff("old/f.c", OLD, OURS)})
    assert run("bump", "new", "--json").json["patches"][0]["status"] == "regenerated"
    _, _, below = (run.root / "patches/0001-f.patch").read_text().partition("\nWhy.\n---\n")
    as_git_writes_it = stat.endswith("(-)\n")
    assert below.startswith(stat.replace("old/f.c", "src/new.c") if as_git_writes_it else stat), below


def test_a_renamed_file_of_which_upstream_has_a_copy_is_a_doubt(carry: Carry, diff: Diff) -> None:
    run = carry({"f.c": OLD}, {"g.c": NEW, "h.c": NEW + "int more;\n"}, {"0001-f.patch": diff("f.c", OLD, OURS)})
    ran = run("bump", "new", "--json")
    (row,) = ran.json["patches"]
    assert (ran.code, row["status"]) == (1, "adapted") and "f.c is g.c now" in row["reason"]


@pytest.mark.parametrize("another", [False, True], ids=["gone", "another-there"])
def test_a_conflict_is_marked_where_upstream_has_the_file_now(carry: Carry, diff: Diff, another: bool) -> None:
    other = _file("two")
    new = {"src/new.c": NEW.replace("a_line_of_its_own_20;", "by_upstream_20(void);")}
    new["old/f.c" if another else "g.c"] = other
    upon = diff("old/f.c", OURS, OURS.replace("ours;\n", "ours;\nint upon_it;\n"))
    patches = {"0001-f.patch": diff("old/f.c", OLD, OURS), "0002-g.patch": upon}
    run = carry({"old/f.c": OLD, "g.c": other}, new, patches)
    ran = run("bump", "new", "--json").json
    assert (ran["patches"][0]["status"], ran["files"]) == ("conflict", ["src/new.c"])
    work = Path(ran["worktree"], "src/new.c")
    conflict = (
        "<<<<<<< upstream\nint by_upstream_20(void);\n||||||| before 0001-f.patch\nint a_line_of_its_own_20;\n"
        "=======\nint ours;\n>>>>>>> 0001-f.patch\n"
    )
    text = work.read_text()
    assert conflict in text and text.count("<<<<<<<") == 1
    work.write_text(text.replace(conflict, "int ours(void);\n"))
    done = run("bump", "--continue", "--accept-adapted", "--json")
    assert done.code == 0, done.raw
    row = done.json["patches"][0]
    assert row["reason"] == "resolved by hand; src/new.c: renamed by upstream, was old/f.c"
    assert row["interdiff"][0] == "src/new.c" and len(row["interdiff"]) == 5  # two lines, before and now
    assert run("apply").code == 0
    merged = (run.root / "tree/src/new.c").read_text()
    assert merged == new["src/new.c"].replace("int by_upstream_20(void);\n", "int ours(void);\nint upon_it;\n")
    assert (run.root / "tree/old/f.c").exists() == another


MAIL = """From: A <a@example.org>
Subject: [PATCH] f

why
---
 f.c | 2 +-
 1 file changed, 1 insertion(+), 1 deletion(-)

"""


def test_what_a_person_resolved_in_a_renamed_file_is_a_change_of_that_file(carry: Carry, diff: Diff) -> None:
    """By hand, and as it was resolved before: no word of a file, or a line of the header, that is lost."""
    line = "int a_line_of_its_own_20;\n"
    patch = MAIL + "".join(diff("f.c", OLD, OURS).partition("diff --git ")[1:])
    run = carry({"f.c": OLD}, {"g.c": NEW.replace(line, "int upstreams;\n")}, {"0001-f.patch": patch})
    work = Path(run("bump", "new", "--json").json["worktree"], "g.c")
    text = work.read_text()
    begin, end = text.index("<<<<<<<"), text.index(">>>>>>> 0001-f.patch\n") + len(">>>>>>> 0001-f.patch\n")
    work.write_text(text[:begin] + "int ours;\nint more;\n" + text[end:])
    (by_hand,) = run("bump", "--continue", "--json").json["patches"]
    assert by_hand["reason"] == "resolved by hand; g.c: renamed by upstream, was f.c"
    assert by_hand["interdiff"][0] == "g.c" and "f.c" not in by_hand["interdiff"]
    assert " g.c | 3 ++-\n" in (run.root / "patches/0001-f.patch").read_text()
    assert run("undo").code == 0
    (again,) = run("bump", "new", "--json").json["patches"]
    assert again["reason"].startswith("resolved before, for new; the guards find a line that it removes now"), again
    assert "miss" not in again["reason"] and again["interdiff"] == by_hand["interdiff"]


CALLS = "".join(f"    call_number_{n}(a, b);\n" for n in range(9))


@pytest.mark.parametrize("taken", ["by-none", "by-another-too", "by-the-patch", "not-the-place", "a-line-of-it"])
def test_lines_of_a_file_that_is_gone_are_looked_for_where_they_came_to(carry: Carry, diff: Diff, taken: str) -> None:
    """Too little is left of it for a rename: the file is another's part now."""
    table = "setup\n" + CALLS + "teardown\n"
    rest = "".join(f"int the_rest_of_it_{n};\n" for n in range(40))
    other = "".join(f"int of_the_other_{n};\n" for n in range(40))
    moved = {"not-the-place": table.replace("4(a, b)", "4(b)"), "a-line-of-it": CALLS.splitlines()[1]}.get(taken, table)
    new = {"g.txt": other + moved} | ({"h.txt": table} if taken == "by-another-too" else {})
    patch = diff("f.txt", rest + table, rest + table.replace("call_number_4(a, b)", "call_number_4(b, a, all_of_it)"))
    if taken == "by-the-patch":
        patch += diff("g.txt", other, other.replace("int of_the_other_3;\n", "int ours;\n"))
    run = carry({"f.txt": rest + table, "g.txt": other}, new, {"0001-f.patch": patch})
    ran = run("bump", "new", "--accept-adapted", "--json")
    (row,) = ran.json["patches"]
    if taken == "by-none":
        assert row["status"] == "adapted"
        assert "f.txt is gone, and a line that its hunks stand on came to g.txt alone" in row["reason"]
        assert run("apply").code == 0
        assert (run.root / "tree/g.txt").read_text() == other + table.replace("4(a, b)", "4(b, a, all_of_it)")
    elif taken == "by-the-patch":
        assert (row["status"], row["reason"]) == ("adapted", "upstream deleted f.txt; the change to it is dropped")
    else:
        told = "; lines that it changes are in g.txt now" if taken == "not-the-place" else ""
        assert (row["status"], row["reason"]) == ("conflict", f"f.txt: upstream has no such file any more{told}")


TABLE = "names = {\n" + "".join(f'    "a_name_of_its_own_{n}",\n' for n in range(12)) + "}\n"


@pytest.mark.parametrize("how", ["moved", "edited-there", "twice", "also-patched"])
def test_a_change_goes_along_with_the_lines_around_it(carry: Carry, diff: Diff, how: str) -> None:
    """A table that went to a file of its own, out of one that stays: no function tells where."""
    ours = TABLE.replace('_6",\n', '_6",\n    "our_name",\n')
    both = "".join(f'    "a_name_of_its_own_{n}",\n' for n in (6, 7))
    moved = TABLE.replace(both, "    // none\n    // any more\n") if how == "edited-there" else TABLE
    old = {"f.txt": OLD + TABLE, "g.txt": "int of_g;\n"}
    new = {"f.txt": OLD, "g.txt": "int of_g;\n" + moved} | ({"h.txt": TABLE} if how == "twice" else {})
    patch = diff("f.txt", OLD + TABLE, OURS + ours)
    if how == "also-patched":
        patch += diff("g.txt", old["g.txt"], "int of_g;\nint ours_too;\n")
    run = carry(old, new, {"0001-f.patch": patch})
    (row,) = run("bump", "new", "--accept-adapted", "--json").json["patches"]
    if how == "moved":
        assert row["status"] == "adapted"
        assert "f.txt, hunk 2: upstream moved its lines to g.txt; three-way: between unchanged lines" in row["reason"]
        assert run("apply").code == 0
        assert (run.root / "tree/f.txt").read_text() == OURS
        assert (run.root / "tree/g.txt").read_text() == "int of_g;\n" + ours
    else:
        assert row["status"] == "conflict" and "f.txt, hunk 2: both lines beside it are gone" in row["reason"]
        assert ("lines around it are in g.txt now" in row["reason"]) == (how == "edited-there")


def test_the_same_change_to_two_copies_that_are_one_now_is_made_once(carry: Carry, diff: Diff) -> None:
    body = "int only_here(void) {\n    first();\n    second();\n    third();\n    fourth();\n}\n"
    old = {f"v{n}/f.c": f"// {n}\n{body}" for n in (1, 2)}
    patch = "".join(diff(p, t, t.replace("second()", "ours()")) for p, t in old.items())
    other = "".join(f"int other_{n}(void) {{\n    return {n};\n}}\n" for n in range(20))
    run = carry(old, {"v3/f.c": other + body}, {"0001-f.patch": patch})
    (row,) = run("bump", "new", "--accept-adapted", "--json").json["patches"]
    assert row["status"] == "adapted", row
    text = (run.root / "patches/0001-f.patch").read_text()
    assert text.count("+    ours();\n") == 1 and "v3/f.c" in text


def test_a_name_that_git_lets_a_patch_take_out_and_upstream_uses_anew_is_noted(carry: Carry, diff: Diff) -> None:
    old = "int old_limit = 3;\n" + OLD + "int use = old_limit;\n"
    ours = old.replace("int old_limit = 3;\n", "").replace("old_limit", "7")
    new = old.replace("int a_line_of_its_own_12;\n", "int more = old_limit;\n")
    run = carry({"f.c": old}, {"f.c": new}, {"0001-f.patch": diff("f.c", old, ours)})
    done = run("bump", "new", "--json").json
    assert [row["status"] for row in done["patches"]] == ["kept"]
    assert done["notes"] == [
        "0001-f.patch, f.c: upstream's new lines use old_limit, which the patch takes out of the file"
    ]


def test_lines_that_upstream_has_put_elsewhere_into_the_file_are_noted(carry: Carry, diff: Diff) -> None:
    ours = OLD.replace("int a_line_of_its_own_2;\n", "int a_line_of_its_own_2;\nint of_both;\nint of_ours;\n")
    new = OLD.replace("int a_line_of_its_own_12;\n", "int a_line_of_its_own_12;\nint of_both;\n")
    run = carry({"f.c": OLD}, {"f.c": new}, {"0001-f.patch": diff("f.c", OLD, ours)})
    done = run("bump", "new", "--json").json
    assert [row["status"] for row in done["patches"]] == ["kept"]
    assert done["notes"] == [
        "0001-f.patch, f.c, hunk 1: upstream has put 1 of the 2 new lines that it adds into the file, too, at line 13"
    ]


@pytest.mark.parametrize("names", ["n m", "i/a.c o.c", "a+(b.c c+.c", 'd.c c"d.c', "f f/f"])
@pytest.mark.parametrize("head", ["{p}/{f}", '"{p}/{f}"', "{p}/{f}.orig", "{f1}-{p}/{f}"])
def test_a_new_name_is_written_wherever_the_old_one_stands(carry: Carry, diff: Diff, names: str, head: str) -> None:
    old, new = names.split()
    a, b = (head.format(p=p, f=old, f1=old.replace("/", "-")) for p in "ab")
    patch = f"--- {a}\n+++ {b.removesuffix('.orig')}\n@@" + diff("x", OLD, OURS).partition("@@")[2]
    run = carry({old: OLD}, {new: NEW}, {"0001-f.patch": patch})
    (row,) = run("bump", "new", "--json").json["patches"]
    assert row["status"] == "regenerated", row
    assert run("check", "--no-offset").code == 0


def test_a_quoted_name_is_known(carry: Carry, diff: Diff) -> None:
    patch = diff("n.c", OLD, OURS).replace("a/n.c", '"a/n\\303\\244.c"').replace("b/n.c", '"b/n\\303\\244.c"')
    run = carry({"n\u00e4.c": OLD}, {"g.c": NEW}, {"0001-f.patch": patch})
    assert run("bump", "new", "--json").json["patches"][0]["status"] == "regenerated"
    assert run("check", "--no-offset").code == 0


def test_an_index_line_of_another_file_of_that_name_stays(carry: Carry, diff: Diff) -> None:
    bars = "=" * 67
    low = {t: t.replace("line", "low") for t in (OLD, OURS, NEW)}
    parts = [("lib/f.c", OLD, OURS), ("f.c", low[OLD], low[OURS])]
    cvs = "RCS file: /cvs/f.c,v\nretrieving revision 1.2\ndiff -u -r1.2 f.c\n"
    patch = "".join(f"Index: p/{p}\n{bars}\n{cvs}---" + diff(p, a, b).partition("---")[2] for p, a, b in parts)
    run = carry({"lib/f.c": OLD, "f.c": low[OLD]}, {"lib/f.c": OLD, "g.c": low[NEW]}, {"0001-f.patch": patch})
    assert run("bump", "new", "--json").code == 0
    text = (run.root / "patches/0001-f.patch").read_text()
    assert f"\nIndex: p/lib/f.c\n{bars}\n{cvs}--- a/lib/f.c\n" in text
    assert f"\nIndex: p/g.c\n{bars}\n{cvs.replace(' f.c', ' g.c')}--- a/g.c\n" in text


def test_a_file_that_a_patch_deletes_and_upstream_renamed_is_not_deleted_already(carry: Carry, diff: Diff) -> None:
    whole = diff("f.c", OLD, "").replace("+++ b/f.c", "+++ /dev/null")
    patch = whole.replace("--- a", "deleted file mode 100644\n--- a", 1)
    run = carry({"f.c": OLD}, {"g.c": NEW}, {"0001-f.patch": patch})
    (row,) = run("bump", "new", "--json").json["patches"]
    assert (row["status"], row["reason"]) == ("conflict", "f.c: upstream renamed it to g.c")


def _file(word: str) -> str:
    return "".join(f"/* of the licence: {n} */\n" for n in range(9)) + OLD.replace("line", word)


@pytest.mark.parametrize("hunk_in", ["licence", "body"])
@pytest.mark.parametrize(
    "new",
    [
        {"a.c": _file("two"), "b.c": _file("one")},
        {"a.c": _file("three"), "b.c": _file("two"), "s/a.c": _file("one")},
    ],
    ids=["swapped", "moved"],
)
def test_another_file_in_the_place_of_one_is_a_doubt(
    carry: Carry, diff: Diff, hunk_in: str, new: dict[str, str]
) -> None:
    old = {"a.c": _file("one"), "b.c": _file("two")}
    at = "/* of the licence: 4 */\n" if hunk_in == "licence" else "int a_one_of_its_own_20;\n"
    run = carry(old, new, {"0001-f.patch": diff("a.c", old["a.c"], old["a.c"].replace(at, at + "int ours;\n"))})
    (row,) = run("bump", "new", "--json").json["patches"]
    where = "s/a.c" if "s/a.c" in new else "b.c"
    followed = hunk_in == "body" and where == "b.c"  # git refused it, and both have the name of the other
    status, why = "adapted", f"a.c is another file now, what it was is {where}"
    if followed:
        status, why = "regenerated", "b.c: renamed by upstream, was a.c"
    assert row["status"] == status and why in row["reason"], row


def test_the_doubt_about_a_file_stays_with_it_where_the_series_renames_it(carry: Carry, diff: Diff) -> None:
    """git takes a rename without a hunk of whatever stands there, and what follows looks as if all were well."""
    old = {"a.c": _file("one"), "b.c": _file("two")}
    rename = "diff --git a/a.c b/m.c\nsimilarity index 100%\nrename from a.c\nrename to m.c\n"
    at = "/* of the licence: 4 */\n"
    edit = diff("m.c", old["a.c"], old["a.c"].replace(at, at + "int ours;\n"))
    run = carry(old, {"a.c": _file("two"), "b.c": _file("one")}, {"0001-rename.patch": rename, "0002-edit.patch": edit})
    one, two = run("bump", "new", "--json").json["patches"]
    assert one["status"] == two["status"] == "adapted"
    assert one["reason"] == "a.c is another file now, what it was is b.c"
    assert two["reason"] == "m.c is made of a.c, which is another file now"


@pytest.mark.parametrize("with_another", [False, True])
def test_a_file_that_a_patch_makes_in_a_folder_that_is_gone_is_a_doubt(
    carry: Carry, diff: Diff, with_another: bool
) -> None:
    made = "diff --git a/s/x/mine.c b/s/x/mine.c\nnew file mode 100644\n--- /dev/null\n+++ b/s/x/mine.c\n@@ -0,0 +1 @@\n+m\n"
    patch = made + (diff("s/f.c", OLD, OURS) if with_another else "")
    run = carry({"s/x/f.c": OLD, "s/f.c": OLD}, {"s/y/f.c": OLD, "s/f.c": NEW}, {"0001-f.patch": patch})
    (row,) = run("bump", "new", "--json").json["patches"]
    assert row["status"] == "adapted", row
    assert "upstream has no folder s/x any more, where it makes s/x/mine.c" in row["reason"]


def test_what_goes_to_another_file_takes_the_change_alone_along(carry: Carry, diff: Diff) -> None:
    body = "void only_here(int a) {\n" + "".join(f"    call_{n}(a);\n" for n in range(9)) + "}\n"
    patch = diff("f.c", OLD + body, OLD + body.replace("call_4(a)", "ours(a)")).replace("b/f.c", "b/k.c")
    moved = "similarity index 90%\nrename from f.c\nrename to k.c\nold mode 100644\nnew mode 100755\n--- a/"
    run = carry({"f.c": OLD + body}, {"f.c": OLD, "h.c": body}, {"0001-f.patch": patch.replace("--- a/", moved, 1)})
    (row,) = run("bump", "new", "--accept-adapted", "--json").json["patches"]
    assert row["status"] == "adapted", row
    text = (run.root / "patches/0001-f.patch").read_text()
    assert text.count("rename from") == 1 and "diff --git a/h.c b/h.c\n--- a/h.c\n+++ b/h.c\n@@" in text
