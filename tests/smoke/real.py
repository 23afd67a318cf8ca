#!/usr/bin/env python3
"""The smoke test, the comparison, the canary and the bisection on the real llama.cpp with a trained model.

    real.py [--jobs N] [--model GGUF]

In build/smoke (or --dir): a project with this repository's base and a copy of its patches; for the bisection five
more, one of which has a bug. It builds llama-server twice (600 CPU seconds each at -O1; with ccache once) and again
what the patches reach. The model is the one of tests/m2/trained.py, from the package index. Prints "N passed, N
failed"; exits with 1 on a failure.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE.parent / "m2"))

from trained import get_model  # noqa: E402  a script beside this one

CONFIG = """
[series]
dir = "patches"

[build.cpu]
targets = ["llama-server"]
options = ["-DGGML_NATIVE=OFF", "-DLLAMA_BUILD_APP=OFF", "-DCMAKE_C_FLAGS_RELEASE=-O1", "-DCMAKE_CXX_FLAGS_RELEASE=-O1"]
{launcher}

[smoke]
timeout = 600

[[smoke.prompt]]
text = "The capital of France is"
contains = " Paris"

[[smoke.prompt]]
text = "Once upon a time, in a small village by the sea,"
max_tokens = 32
"""
# a sign in the scale of attention: it compiles, it runs, it talks nonsense
PLANTED = ("llama.cpp/src/models/llama.cpp", "? 1.0f/sqrtf(float(n_embd_head))", "? -1.0f/sqrtf(float(n_embd_head))")
BAD = "0037-planted-3.patch"


class Tests:
    """The program, and the count of the checks."""

    def __init__(self, jobs: str) -> None:
        self.jobs = jobs
        self.passed = self.failed = 0

    def run(self, folder: Path, *args: str | Path) -> Any:
        """One document of the program, said aloud."""
        command = [sys.executable, "-m", "opencoti_patches", "-C", folder, "--json", *args]
        print("+", *map(str, command[2:]), flush=True)
        done = subprocess.run(command, stdout=subprocess.PIPE, check=False, cwd=ROOT)
        document = json.loads(done.stdout)
        if "error" in document:
            sys.exit(f"{document['error']['message']}\n{document['error']['hint']}")
        return document

    def check(self, ok: bool, what: str, document: Any) -> None:
        """Count a check and print it."""
        self.passed += ok
        self.failed += not ok
        print("ok  " if ok else "FAIL", what, "" if ok else json.dumps(document)[:2000], flush=True)


def project(folder: Path) -> Path:
    """A project of this repository's base and patches."""
    folder.mkdir(parents=True, exist_ok=True)
    base = (ROOT / "opencoti.toml").read_text("utf-8").partition("[series]")[0]
    launcher = 'launcher = "ccache"' if shutil.which("ccache") else ""
    (folder / "opencoti.toml").write_text(base + CONFIG.format(launcher=launcher), "utf-8")
    shutil.rmtree(folder / "patches", ignore_errors=True)
    shutil.copytree(ROOT / "patches", folder / "patches")
    if (ROOT / ".opencoti/downloads").is_dir() and not (folder / ".opencoti").exists():
        shutil.copytree(ROOT / ".opencoti/downloads", folder / ".opencoti/downloads")
    return folder


def plant(tests: Tests, folder: Path) -> None:
    """Five more patches, with the program's own means; the third has the bug."""
    work = folder / "work"
    tests.run(folder, "bootstrap", "--to", "0034", work, "--force")
    path = work / PLANTED[0]
    for number in range(1, 6):
        text = path.read_text("utf-8") + f"// {number} of 5\n"
        if number == 3:
            assert text.count(PLANTED[1]) == 1
            text = text.replace(PLANTED[1], PLANTED[2])
        path.write_text(text, "utf-8")
        document = tests.run(folder, "new", f"planted-{number}", "--from", work)
    tests.check(document["name"] == "0039-planted-5.patch", "five patches more, one with a bug", document)


def main() -> int:
    """Run them all."""
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--dir", type=lambda p: Path(p).resolve(), default=ROOT / "build" / "smoke")
    ap.add_argument("--jobs", default=str(os.cpu_count() or 1))
    ap.add_argument("--model", type=lambda p: Path(p).resolve())
    args = ap.parse_args()
    os.environ.pop("OPENCOTI_STORE", None)  # a store of its own: profiles are known by their names in it
    os.environ["PATH"] += os.pathsep + str(Path(sys.executable).parent)
    model = args.model or get_model(args.dir / "model")
    tests = Tests(args.jobs)
    root = project(args.dir)

    document = tests.run(root, "build", "cpu", "-j", args.jobs)
    tests.check(document["ok"], "llama-server is built", document)
    document = tests.run(root, "smoke", "cpu", "--model", model)
    tests.check(document["ok"], f"it answers {document['prompts'][0]['answer']!r}", document)
    context = ["--context", "256", "--context", "512", "--kv", "f16", "--kv", "q8_0"]
    asked = ["--model", model, "--args", "-t 1", "--samples", "3", *context, "--at-least", "0.6"]
    document = tests.run(root, "canary", "cpu", *asked)
    rows = [(r["context"], r["kv"], r["found"]) for r in document["rows"]]
    tests.check(document["ok"], f"the canary: {rows}", document)
    document = tests.run(root, "smoke", "cpu", "--model", model, "--against", "0033", "-j", args.jobs)
    tests.check(document["ok"], "after 0033 and 0034 it answers the same, to the last digit", document)

    plant(tests, root)
    document = tests.run(root, "bisect", "cpu", "--smoke", "--from", "0034", "--model", model, "-j", args.jobs)
    steps = [(s["patch"][:4], s["outcome"]) for s in document["steps"]]
    tests.check(document["first"] == BAD, f"bisect: {document['first']} after {steps}", document)
    print(f"{tests.passed} passed, {tests.failed} failed")
    return int(tests.failed > 0)


if __name__ == "__main__":
    sys.exit(main())
