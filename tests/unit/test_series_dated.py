"""The day of a patch and its word on upstream, from headers of many hands."""

from __future__ import annotations

import pytest

from opencoti_patches.series.dated import upstream, when
from opencoti_patches.series.header import read_header

MAIL = "From: A <a@example.com>\nDate: {}\nSubject: [PATCH] x\n\nWhy.\n"
NOTES = "x\nfork note (2026-03-04): hunk regenerated via snapshot-diff against base; a.\nfork note (2026-05-06, t): hunk regenerated via snapshot-diff against base; b.\n"


@pytest.mark.parametrize(
    ("header", "day"),
    [
        (MAIL.format("Sat, 7 Feb 2026 23:30:00 -0800"), ("2026-02-07", "header")),
        (MAIL.format("7 Feb 2026"), ("2026-02-07", "header")),
        (MAIL.format("2026-02-07"), ("2026-02-07", "header")),
        (MAIL.format("Thu, 1 Jan 1970 00:00:00 +0000"), None),
        (MAIL.format("yesterday"), None),
        (MAIL.format("Sat, 99 Feb 2026 10:00:00 +0000"), None),
        ("Description: x\nDate: 2020-01-02\nLast-Update: 2021-03-04\n", ("2021-03-04", "header")),
        (NOTES, ("2026-05-06", "note")),
        ("x\nfork note (2026-13-45): hunk\n", None),
        ("", None),
        ("\udcff\udcfe\n", None),
    ],
)
def test_when(header: str, day: tuple[str, str] | None) -> None:
    raw = header.encode("utf-8", "surrogateescape")
    assert when(raw, read_header(raw)) == day


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ("x\n\nUpstream-Status: Backport [abc]\n", "Backport [abc]"),
        ("x\n\nForwarded: no\nupstream-status:  Pending\n", "Pending"),
        ("x\nForwarded: not-needed\n", "Forwarded: not-needed"),
        ("x\nForwarded: yes\nApplied-Upstream: 1.2, https://example.com/c\n", "Applied 1.2, https://example.com/c"),
        ("x\n\nThis has no Upstream-Status: field\nUpstream-Status:\n", ""),
    ],
)
def test_upstream(header: str, said: str) -> None:
    assert upstream(header.encode()) == said
