"""``status``: one screen, from the records alone."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conftest import Git

    from cli.conftest import Diff, Project, Sandbox

LINES = "".join(f"{n}\n" for n in range(1, 31))
MOVED = "new\n" + LINES


def _project(project: Project, diff: Diff, *, broken: bool = False) -> Sandbox:
    patches = {
        "0001-clean.patch": diff("a", LINES, LINES.replace("15\n", "fifteen\n")),
        "0002-offset.patch": diff("b", LINES, LINES.replace("15\n", "fifteen\n")),
    }
    if broken:
        patches["0003-broken.patch"] = diff("a", "p\nq\nr\n", "p\nQ\nr\n")
    return project({"a": LINES, "b": MOVED}, patches)


def test_nothing_is_fetched(project: Project, diff: Diff) -> None:
    made = _project(project, diff)
    ran = made("status")
    assert (ran.code, ran.err) == (0, "")
    assert "base: not in the store as it is now; run 'opencoti-patches bootstrap'" in ran.out.replace(
        "\n         ", " "
    )
    assert "series   2 patches, not judged without the base\n" in ran.out
    assert "lock     none; 'opencoti-patches lock' writes it\n" in ran.out
    assert "tree     tree: " in ran.out
    assert ran.out.endswith("session  none\n")
    assert not (made.root / ".opencoti").exists()
    told = made("status", "--json").json
    assert told["base"]["ready"] is False
    assert (told["base"]["tree"], told["series"]["applies"], told["series"]["patches"]) == (None, None, 2)


def test_a_source_that_would_be_fetched(project: Project) -> None:
    made = project({}, {})
    assert made("init", "other").code == 0
    ran = made("status", "-C", "other")
    assert ran.code == 0
    assert "(b9445): not in the store yet; run 'opencoti-patches -C other bootstrap'" in ran.out.replace(
        "\n         ", " "
    )
    assert not (made.root / "other/.opencoti").exists()


def test_a_folder_that_changed_since(project: Project, diff: Diff) -> None:
    made = _project(project, diff)
    assert made("bootstrap").code == 0
    assert made("status", "--json").json["base"]["ready"] is True
    made.write("base/new", "x\n")
    assert made("status", "--json").json["base"]["ready"] is False


def test_in_step(project: Project, diff: Diff) -> None:
    made = _project(project, diff)
    assert made("lock").code == 0
    tree = made("check", "--json").json["base"]["tree"]
    ran = made("status")
    assert ran.code == 0
    assert f"tree {tree[:12]}, in the store" in ran.out.replace("\n         ", " ")
    assert "series   2 patches: 1 clean, 1 offset; it applies strictly\n" in ran.out
    assert "lock     in step\n" in ran.out
    told = made("status", "--json").json
    assert (told["ok"], told["base"]["ready"], told["base"]["tree"]) == (True, True, tree)
    assert told["series"]["statuses"] == {"clean": 1, "offset": 1}
    assert told["series"]["applies"] is True
    assert told["lock"] == {"state": "in step", "differences": []}
    assert told["session"] is None


def test_drift_is_no_failure_of_status(project: Project, diff: Diff) -> None:
    made = _project(project, diff, broken=True)
    assert made("check").code == 1
    ran = made("status")
    assert ran.code == 0
    said = ran.out.replace("\n         ", " ")
    assert "3 patches: 1 clean, 1 offset, 1 failed; it does not apply, first 0003-broken.patch; run" in said
    told = made("status", "--json").json
    assert (told["series"]["applies"], told["series"]["first_failed"]) == (False, "0003-broken.patch")


def test_a_stale_lock(project: Project, diff: Diff) -> None:
    made = _project(project, diff)
    made("lock")
    patch = made.root / "patches/0001-clean.patch"
    patch.write_bytes(patch.read_bytes().replace(b"fifteen", b"FIFTEEN"))
    ran = made("status")
    assert ran.code == 0
    assert "stale: 0001-clean.patch is not what was locked; run 'opencoti-patches lock'" in ran.out.replace(
        "\n         ", " "
    )
    assert made("status", "--json").json["lock"]["state"] == "stale"


def test_the_lock_is_compared_without_a_base_as_far_as_can_be(project: Project, diff: Diff) -> None:
    made = _project(project, diff)
    made("lock")
    elsewhere = str(made.root / "other-store")
    ran = made("status", OPENCOTI_STORE=elsewhere)
    assert "lock     in step with the patch files; base and tip not compared\n" in ran.out
    made.write("patches/series", "0001-clean.patch\n")
    ran = made("status", OPENCOTI_STORE=elsewhere)
    assert "0002-offset.patch is in the lock and not in the series" in ran.out.replace("\n         ", " ")


def test_a_conflict_in_the_lock(project: Project, diff: Diff) -> None:
    made = _project(project, diff)
    made.write("patches/series.lock", "<<<<<<< ours\n")
    ran = made("status")
    assert ran.code == 0
    assert "damaged: series.lock line 1 is a conflict marker; run 'opencoti-patches lock'" in ran.out.replace(
        "\n         ", " "
    )


def test_fits_a_screen(project: Project, diff: Diff) -> None:
    made = _project(project, diff, broken=True)
    made("check")
    for n in range(30):
        made.write(f"patches/9{n:03}-later-than-all-others-with-a-long-name.patch", diff(f"n{n}", "", "x\n"))
    names = sorted(p.name for p in (made.root / "patches").glob("*.patch"))
    made.write("patches/series", "".join(f"{n}\n" for n in names))
    made.write("patches/series.lock", f"base {'0' * 40}\ngone.patch {'1' * 64}\ntip {'2' * 40}\n")
    lines = made("status").out.splitlines()
    assert len(lines) <= 24
    assert [line for line in lines if len(line) > 80 and " " in line.strip()] == []


def test_a_series_that_cannot_be_read(project: Project) -> None:
    made = project({}, {}, series="0001-gone.patch\n")
    ran = made("status")
    assert (ran.code, ran.out) == (2, "")
    assert "0001-gone.patch" in ran.err


def test_ids_are_short_for_people_and_whole_in_documents(project: Project, diff: Diff, git: Git) -> None:
    tree = git.tree({b"a": ("100644", LINES.encode())})
    who = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    rev = git(*who, "commit-tree", tree, "-m", "one").decode().strip()
    git("update-ref", "refs/heads/main", rev)
    source = f'kind = "git"\nurl = "{git.path}"\nrev = "{rev}"\nupstream = "{rev} (v1)"\n'
    run = project(
        {},
        {"0001-clean.patch": diff("a", LINES, LINES.replace("15\n", "fifteen\n"))},
        config=f'schema = 1\nname = "small"\n\n[[base.source]]\n{source}',
    )
    for command in ("check", "status", "check", "lock", "apply", "status", "list"):
        ran = run(command)
        assert ran.code == 0, ran.err
        assert re.search("[0-9a-f]{13}", ran.out) is None, ran.out
    assert f" {rev[:12]}: 1 clean" in " ".join(run("check").out.split())
    assert f" {rev[:12]}, upstream {rev[:12]} (v1): tree {tree[:12]}" in " ".join(run("status").out.split())
    told = run("status", "--json").json["base"]
    assert (told["tree"], told["sources"][0]["upstream"]) == (tree, f"{rev} (v1)")
    assert told["sources"][0]["label"].endswith(rev)


def test_edits_and_new_files_of_the_tree_are_counted(project: Project, diff: Diff) -> None:
    made = _project(project, diff)
    assert made("apply").code == 0
    whole = made("status", "--json").json["tree"]["state"]
    made.write("tree/a", "other\n")
    made.write("tree/sub/new", "x\n")
    made.write("tree/other", "y\n")
    assert made("status", "--json").json["tree"]["state"] == f"{whole}, 1 file edited, 2 new files"
    made.write("tree/.gitignore", "other\nsub/\n.gitignore\n")
    assert made("status", "--json").json["tree"]["state"] == f"{whole}, 1 file edited"
