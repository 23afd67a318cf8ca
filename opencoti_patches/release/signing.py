"""Signatures by minisign, an outside program: made with a secret key without a password, verified with a public one."""

from __future__ import annotations

import re
from pathlib import Path

from opencoti_patches.core.errors import CouldNot, UsageError
from opencoti_patches.doors import proc

SUFFIX = ".minisig"
_MEND = "install minisign (apt-get install minisign)"


def sign(file: Path, key: Path, comment: str) -> Path:
    """Sign a file; the signature stands beside it. The comment is part of what is signed, in place of the time of
    now, so that equal input has an equal signature.

    Errors: CouldNot ``no-tool``, ``signing``; UsageError ``no-file``.
    """
    guard_key(key)
    made = file.with_name(file.name + SUFFIX)
    words = ["minisign", "-S", "-s", str(key), "-m", str(file), "-x", str(made), "-t", comment, "-c", "minisign"]
    done = _run(words)
    if done.code or not made.is_file():
        raise CouldNot(
            "signing",
            f"minisign does not sign: {_said(done)}",
            "give it a secret key without a password, made by 'minisign -G -W'",
        )
    return made


def verify(file: Path, signature: Path, key: Path) -> str:
    """Why a signature is not the key's; empty if it is. Errors: CouldNot ``no-tool``; UsageError ``no-file``."""
    guard_key(key)
    done = _run(["minisign", "-V", "-q", "-p", str(key), "-m", str(file), "-x", str(signature)])
    return _said(done) if done.code else ""


def _run(words: list[str]) -> proc.Done:
    try:
        return proc.run(words)
    except CouldNot as e:
        raise CouldNot("no-tool", e.message, _MEND) from None


def guard_key(key: Path) -> None:
    """Errors: UsageError ``no-file``."""
    if not key.is_file():
        raise UsageError("no-file", f"there is no key {key}", "name a minisign key file")


def _said(done: proc.Done) -> str:
    lines = [line for line in (done.error_text + "\n" + done.out.decode("utf-8", "replace")).splitlines() if line]
    return re.sub(r"[^ -~]+", " ", lines[-1])[:160] if lines else f"it ends with {done.code}"
