"""What each patch reaches, in JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cli.documents import CLEAN, CONFIG, HEAD, OTHER_MOVED, Ask, Project

if TYPE_CHECKING:
    from e2e.forked import Forked

TABLE = '\n[artefact.text]\nsources = ["f.*", "!*.c"]\n\n[artefact.all]\nsources = ["*"]\n'


def test_impact(ask: Ask, small: Project, forked: Forked) -> None:
    small(
        {"0001-twenty.patch": HEAD + CLEAN, "0002-ten.patch": "Say\n\nWhy.\n\nReach: all\n\n" + OTHER_MOVED},
        CONFIG + TABLE,
    )
    document = ask("impact", "--json", code=0)
    assert document["artefacts"] == [
        {"name": "text", "sources": ["f.*", "!*.c"]},
        {"name": "all", "sources": ["*"]},
    ]
    one, two = document["patches"]
    assert (one["name"], one["reaches"], one["claims"]) == ("0001-twenty.patch", ["text", "all"], [])
    assert two["claims"] == [{"line": 5, "claim": "Reach: all", "holds": True, "why": ""}]
    assert (two["host_only"], two["rows"]) == (
        False,
        [{"artefact": "all", "closure": True, "depfiles": None, "via": ["g.txt"]}],
    )
    assert (document["builds"], document["unread"], document["binary"]) == ([], [], [])
    forked.write("patches/0001-twenty.patch", "Say\n\nWhy.\n\nReach: text\n\n" + CLEAN)
    assert [len(p["claims"]) for p in ask("impact", "--json", code=1)["patches"]] == [1, 1]
    assert [p["name"] for p in ask("impact", "--json", "2", code=0)["patches"]] == ["0002-ten.patch"]
    assert ask("impact", "--json", "9", code=2)["error"]["code"] == "unknown-patch"
