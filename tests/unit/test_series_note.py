"""The note line in headers of many hands: nothing of the header runs into it, and nothing else changes."""

from __future__ import annotations

import pytest

from opencoti_patches.series.header import read_header, with_note

NOTE = "fork note (2026-03-04): hunk regenerated via snapshot-diff against base; a. Content unchanged."
OLDER = NOTE.replace("2026", "2025")
MAIL = "From: A <a@example.com>\nDate: Thu, 1 Jan 2026 00:00:00 +0000\nSubject: [PATCH] x\n"
FIELDS = "Description: x\n and more of x\nForwarded: no\n"


@pytest.mark.parametrize(
    ("header", "noted"),
    [
        ("x\n\nWhy.\n\n", f"x\n{NOTE}\n\nWhy.\n\n"),
        ("x\nWhy.\n", f"x\n{NOTE}\n\nWhy.\n"),
        ("x\n", f"x\n{NOTE}\n"),
        ("x", f"x\n{NOTE}\n"),
        ("fix: x\nWhy.\n", f"fix: x\n{NOTE}\n\nWhy.\n"),
        (f"x\n{OLDER}\nWhy.\n", f"x\n{NOTE}\n{OLDER}\nWhy.\n"),
        ("", f"{NOTE}\n"),
        (f"{MAIL}\nWhy.\n---\n", f"{MAIL}\n{NOTE}\n\nWhy.\n---\n"),
        (f"{MAIL}\n---\n f | 2 +-\n", f"{MAIL}\n{NOTE}\n---\n f | 2 +-\n"),
        (MAIL, f"{MAIL}\n{NOTE}\n"),
        (FIELDS, f"{FIELDS}\n{NOTE}\n"),
        (f"{FIELDS}\nWhy.\n", f"{FIELDS}\n{NOTE}\n\nWhy.\n"),
        ("x\r\nWhy.\r\n", f"x\r\n{NOTE}\n\nWhy.\r\n"),
    ],
)
def test_a_note_stands_alone(header: str, noted: str) -> None:
    once = with_note(header.encode(), NOTE)
    assert once.decode() == noted
    assert with_note(once, NOTE) == once
    assert read_header(once).subject == read_header(header.encode()).subject
    newer = NOTE.replace("03-04", "03-05")
    assert with_note(once, newer).decode() == noted.replace(NOTE, f"{newer}\n{NOTE}")
