"""``bump`` where a patch changes a file that a patch in conflict, or one that is left out, makes."""

from __future__ import annotations

import pytest

from .conftest import Diff
from .test_bump import CODE, Carry, carry, edit, statuses

__all__ = ["carry"]

MADE = "".join(f"int new_line_{n};\n" for n in range(1, 20))
GONE = "diff --git a/new.c b/moved.c\nsimilarity index 100%\nrename from new.c\nrename to moved.c\n"


@pytest.mark.parametrize("does", ["modify", "delete", "rename"])
@pytest.mark.parametrize("beside", [False, True])
def test_it_is_blocked_and_then_a_conflict_and_never_dropped(carry: Carry, diff: Diff, does: str, beside: bool) -> None:
    first = diff("f.c", CODE, edit(CODE, ("x * 2", "x * 8"))) + diff("new.c", "", MADE)
    second = {
        "modify": diff("new.c", MADE, edit(MADE, ("_9;", "_9_more;"))),
        "delete": diff("new.c", MADE, ""),
        "rename": f"Say what\n\n{GONE}",
    }[does] + beside * diff("g.c", CODE, edit(CODE, ("x - 3", "x - 9")))
    new = {"f.c": edit(CODE, ("x * 2", "x * 7")), "g.c": "int top;\n" + CODE}
    run = carry({"f.c": CODE, "g.c": CODE}, new, {"0001-a.patch": first, "0002-b.patch": second})
    assert statuses(run, "new") == {"0001-a.patch": "conflict", "0002-b.patch": "blocked"}
    done = run("bump", "--skip", "0001-a.patch", "--json")
    row = done.json["patches"][1]
    assert (done.code, row["status"]) == (1, "conflict"), row
    assert row["reason"] == "stands on 0001-a.patch, which is left out: there is no new.c without it"
    assert run("bump", "--skip", "0002-b.patch").code == 0
    assert run("check").code == 0


@pytest.mark.parametrize("theirs", [f"int top;\n{MADE}", edit(MADE, ("_8;", "_of_theirs;"))], ids=["moved", "edited"])
@pytest.mark.parametrize("renames", [False, True])
def test_a_file_of_upstreams_own_in_the_place_of_one_that_is_left_out_is_a_doubt(
    carry: Carry, diff: Diff, theirs: str, renames: bool
) -> None:
    """Whether git takes the patch there or it is carried: nobody knows that it is the same file."""
    change = diff("new.c", MADE, edit(MADE, ("_9;", "_9_more;")))
    second = GONE.replace("100%", "90%") + change[change.index("--- ") :].replace("b/new.c", "b/moved.c")
    run = carry(
        {"g.c": CODE},
        {"g.c": CODE, "new.c": theirs},
        {"0001-a.patch": diff("new.c", "", MADE), "0002-b.patch": second if renames else change},
    )
    assert statuses(run, "new")["0001-a.patch"] == "conflict"
    done = run("bump", "--skip", "0001-a.patch", "--json")
    row = done.json["patches"][1]
    assert (done.code, row["status"]) == (1, "adapted"), row
    assert "new.c is upstream's own; 0001-a.patch, which makes it, is not in" in row["reason"]
