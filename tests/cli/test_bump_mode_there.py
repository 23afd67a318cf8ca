"""``bump`` of a patch that sets a mode which upstream has set meanwhile, beside a file that only git can carry."""

from __future__ import annotations

from .conftest import Diff, Sandbox
from .test_bump import Carry, carry, git

__all__ = ["carry"]

OLD = "".join(f"int a_line_of_its_own_{n};\n" for n in range(1, 31))


def test_a_mode_that_upstream_has_by_now_stops_nothing(carry: Carry, diff: Diff, sandbox: Sandbox) -> None:
    mode = "diff --git a/x.sh b/x.sh\nold mode 100644\nnew mode 100755\n"
    binary = (
        "diff --git a/b b/b\nnew file mode 100644\n"
        f"index {'0' * 40}..f76dd238ade08917e6712764a16a22005a50573d\n"
        "GIT binary patch\nliteral 1\nIcmZPo000310RR91\n\nliteral 0\nHcmV?d00001\n\n"
    )
    patch = diff("f.c", OLD, OLD.replace("_20;", "_20, ours;")) + mode + binary
    run = carry({"f.c": OLD, "x.sh": "x\n"}, {"f.c": "int top;\n" + OLD, "x.sh": "x\n"}, {"0001-f.patch": patch})
    upstream = sandbox.root / "upstream"
    git(upstream, "update-index", "--chmod=+x", "x.sh")
    git(upstream, "commit", "-q", "-m", "a mode")
    git(upstream, "tag", "-f", "new")
    ran = run("bump", "new", "--json")
    assert (ran.code, [row["status"] for row in ran.json.get("patches", [])]) == (0, ["renumbered"]), ran.json
