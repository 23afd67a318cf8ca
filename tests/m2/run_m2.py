#!/usr/bin/env python3
"""Prove the head split of the KV cache on a built tree.

    run_m2.py --src TREE --build BUILD [--base-src TREE --base-build BUILD] [--rpc] [--planted] [--only GROUP,...] [--quick]
              [--no-window-on-device] [--tolerance T]

TREE is a llama.cpp source tree, BUILD its CMake build with at least the target llama; --rpc needs rpc-server and a build
with GGML_RPC=ON too. The base tree is the one without the patches. build.py makes them all.

groups   models   the model maker writes the same bytes twice
         base     off equals an unpatched build with the same flags, bit for bit (needs --base-build)
         equal    split (0.25, 0.5, 0.75) equals off, bit for bit; states cross between split and unsplit
         streams  16 streams; automatic flash attention; a long state
         refuse   every refusal, and models without anything to split
         heads    ties of fraction x KV heads
         blocks   block sizes that do not divide a head
         rpc      equal, streams and the scheduler's placement through an RPC device on loopback (with --rpc)
         planted  each bug of planted/*.patch turns the equality test red, or the one of the placement (with --planted). TREE is
                  changed and put back, BUILD is rebuilt: give it a tree of its own

Prints one line per failure (all lines with -v) and "N passed, N failed"; exits with 1 if anything failed.
"""

import argparse
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).resolve().parent
EQUAL_MODELS = ["llama", "gemma3", "gpt-oss"]
TIMEOUT = 3600

Arg = str | Path


class Options(argparse.Namespace):
    """The command line."""

    src: Path
    build: Path
    base_src: Path | None
    base_build: Path | None
    rpc: bool
    planted: bool
    quick: bool
    no_window_on_device: bool
    tolerance: str
    only: list[str]
    verbose: bool


class Run:
    """The models, the test program, and the count of the checks."""

    def __init__(self, args: Options, tmp: Path) -> None:
        self.args = args
        self.tmp = tmp
        self.models = tmp / "models"
        self.quick = ["--quick"] * args.quick + ["--no-window-on-device"] * args.no_window_on_device
        self.tolerance = ["--tolerance", args.tolerance] if args.tolerance else []
        self.passed = self.failed = 0
        make_models(self.models)
        self.exe = compile_test(args.src, args.build, tmp / "m2_test")

    def check(self, ok: bool, what: str) -> None:
        """Count a check, and print it if it failed."""
        self.passed += ok
        self.failed += not ok
        if not ok or self.args.verbose:
            self.say(("ok   " if ok else "FAIL ") + what)

    def say(self, text: str) -> None:
        """Print a line at once."""
        print(text, flush=True)

    def model(self, name: str) -> Path:
        """The file of a model."""
        return self.models / f"{name}.gguf"

    @property
    def equal_models(self) -> list[Path]:
        """The files of the models for equality."""
        return [self.model(m) for m in EQUAL_MODELS]


def make_models(out: Path) -> None:
    """Write the models into a folder."""
    subprocess.run([sys.executable, str(HERE / "make_models.py"), str(out)], check=True)


def compile_test(src: Path, build: Path, out: Path) -> Path:
    """Build m2_test against the libraries of a build."""
    lib = build / "bin"
    cmd = [
        os.environ.get("CXX", "c++"),
        "-std=c++17",
        "-O1",
        "-Wall",
        "-Wextra",
        f"-I{src}/include",
        f"-I{src}/ggml/include",
        str(HERE / "m2_test.cpp"),
        "-o",
        str(out),
        f"-L{lib}",
        "-lllama",
        "-lggml",
        "-lggml-base",
        f"-Wl,-rpath,{lib}",
    ]
    subprocess.run(cmd, check=True)
    return out


def execute(run: Run, exe: Path, *args: Arg) -> tuple[list[str], int]:
    """Run m2_test. Returns its output lines and its exit status."""
    p = subprocess.run(
        [str(exe), *run.tolerance, *map(str, args)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        cwd=run.tmp,
        timeout=TIMEOUT,
    )
    return p.stdout.splitlines(), p.returncode


def test(run: Run, label: str, *args: Arg) -> None:
    """Run m2_test and take over its checks."""
    count(run, label, *execute(run, run.exe, *args))


def test_each(run: Run, label: str, *args: Arg, models: list[Path]) -> None:
    """Run m2_test on each of the models, all at the same time: it has one thread."""
    with ThreadPoolExecutor(int(os.environ.get("JOBS", 0)) or os.cpu_count()) as pool:
        for lines, rc in pool.map(lambda m: execute(run, run.exe, *args, m), models):
            count(run, label, lines, rc)


def count(run: Run, label: str, lines: list[str], rc: int) -> None:
    """Take over the checks of a run; one more is that its own count agrees with its lines."""
    passed, failed = 0, 0
    for line in lines:
        if line.startswith(("ok   ", "FAIL ")):
            ok = line.startswith("ok")
            passed += ok
            failed += not ok
            run.check(ok, f"{label}: {line[5:]}")
    m = re.match(r"(\d+) passed, (\d+) failed", lines[-1]) if lines else None
    counted = m is not None and (int(m[1]), int(m[2])) == (passed, failed)
    whole = counted and passed + failed > 0 and rc == (failed > 0)
    run.check(whole, f"{label}: ran to its end" + ("" if whole else f" - exit {rc}: " + " | ".join(lines[-3:])))


def group_models(run: Run) -> None:
    """The model maker writes the same bytes twice."""
    again = run.tmp / "models-again"
    make_models(again)
    for f in sorted(run.models.iterdir()):
        same = f.read_bytes() == (again / f.name).read_bytes()
        run.check(same, f"models: {f.name} has the same bytes when made again")
    shutil.rmtree(again)


def group_base(run: Run) -> None:
    """Off equals an unpatched build."""
    if not run.args.base_build or not run.args.base_src:
        run.say("skip base: no --base-src and --base-build")
        return
    base_exe = compile_test(run.args.base_src, run.args.base_build, run.tmp / "m2_test_base")
    want, rc0 = execute(run, base_exe, *run.quick, "digest", *run.equal_models)
    got, rc1 = execute(run, run.exe, *run.quick, "digest", *run.equal_models)
    ran = rc0 == 0 and rc1 == 0 and len(want) == len(got) and len(want) > 10
    run.check(ran, f"base: both builds ran ({len(want)} and {len(got)} lines)")
    for a, b in zip(want, got, strict=False):
        run.check(a == b, f"base: {a}" if a == b else f"base: {a}\n  got: {b}")


def group_equal(run: Run) -> None:
    """A split equals off."""
    test_each(run, "equal", *run.quick, "equal", models=run.equal_models)


def group_streams(run: Run) -> None:
    """Many streams, automatic flash attention, a state of several batches."""
    models = run.equal_models
    test_each(run, "streams", "streams", models=[*models, run.model("deci")])
    test(run, "auto", "auto", *models)
    test(run, "long", "long", models[0])


def group_refuse(run: Run) -> None:
    """Refusals, and models without anything to split."""
    test(run, "refuse", "refuse", run.models)


def group_heads(run: Run) -> None:
    """Ties of fraction x KV heads."""
    test(run, "heads", "heads", run.models)


def group_blocks(run: Run) -> None:
    """Block sizes that do not divide a head."""
    test(run, "blocks", "blocks", run.models)


@contextmanager
def rpc_server(build: Path, log: Path) -> Iterator[list[str]]:
    """An rpc-server on a free port of loopback; gives the options of m2_test for it."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = int(s.getsockname()[1])
    cmd = [str(build / "bin" / "rpc-server"), "-H", "127.0.0.1", "-p", str(port), "-t", "1", "-d", "CPU"]
    with log.open("w") as out:
        p = subprocess.Popen(cmd, stdout=out, stderr=subprocess.STDOUT)
        try:
            wait_for(p, port, log)
            yield ["--rpc", f"127.0.0.1:{port}"]
        finally:
            p.terminate()
            try:
                p.wait(10)
            except subprocess.TimeoutExpired:
                p.kill()
                p.wait()


def wait_for(p: subprocess.Popen[bytes], port: int, log: Path) -> None:
    """Wait until the server answers."""
    for _ in range(100):
        if p.poll() is not None:
            raise RuntimeError("rpc-server ended: " + log.read_text()[-500:])
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError("rpc-server does not answer")


def group_rpc(run: Run) -> None:
    """Placement and equality through an RPC device."""
    if not run.args.rpc:
        return
    models = run.equal_models
    with rpc_server(run.args.build, run.tmp / "rpc.log") as opt:
        for m in models:
            test(run, "rpc place", *opt, "place", m)
        for m in models:
            test(run, "rpc equal", *opt, *run.quick, "equal", m)
        test(run, "rpc half offloaded", *opt, "--ngl", "2", "--quick", "equal", models[0])
        test(run, "rpc streams", *opt, "streams", *models)
        test(run, "rpc auto", *opt, "auto", *models)
        test(run, "rpc long", *opt, "long", models[0])
        test(run, "rpc refuse", *opt, "refuse", run.models)


def rebuild(build: Path) -> None:
    """Build the library again."""
    jobs = os.environ.get("JOBS", "2")
    cmd = ["cmake", "--build", str(build), "--parallel", jobs, "--target", "llama"]
    subprocess.run(cmd, check=True, stdout=subprocess.DEVNULL)


def group_planted(run: Run) -> None:
    """Planted bugs turn the tests red."""
    if not run.args.planted:
        return
    patches = sorted((HERE / "planted").glob("*.patch"))
    run.check(len(patches) >= 3, f"planted: {len(patches)} bugs")
    for patch in patches:
        plant(run, patch)
    rebuild(run.args.build)
    _, rc = execute(run, run.exe, "--quick", "equal", run.model("llama"))
    run.check(rc == 0, "planted: green again without the bugs")


def plant(run: Run, patch: Path) -> None:
    """One bug: apply, build, expect red, take it back."""
    text = patch.read_text()
    expect = re.search(r"^Expect: (.*)$", text, re.M)
    if not expect:
        raise ValueError(f"{patch} has no line 'Expect:'")
    placement = re.search(r"^Run: place$", text, re.M)
    if placement and not run.args.rpc:
        run.say(f"skip planted {patch.stem}: no --rpc")
        return
    apply = ["patch", "-p1", "-F0", "-s", "-d", str(run.args.src.parent), "-i", str(patch)]
    subprocess.run(apply, check=True)
    try:
        rebuild(run.args.build)
        if placement:
            with rpc_server(run.args.build, run.tmp / "rpc.log") as opt:
                lines, rc = execute(run, run.exe, *opt, "place", run.model("llama"))
        else:
            lines, rc = execute(run, run.exe, "--quick", "equal", run.model("llama"))
    finally:
        subprocess.run([*apply, "-R"], check=True)
    red = [line for line in lines if line.startswith("FAIL ")]
    hit = [line for line in red if re.search(expect[1], line)]
    run.check(
        rc != 0 and bool(hit),
        f"planted: {patch.stem} turns {len(red)} checks red"
        + (f", e.g. {hit[0][5:]}" if hit else f", none of them with {expect[1]!r}"),
    )


GROUPS: dict[str, Callable[[Run], None]] = {
    "models": group_models,
    "base": group_base,
    "equal": group_equal,
    "streams": group_streams,
    "refuse": group_refuse,
    "heads": group_heads,
    "blocks": group_blocks,
    "rpc": group_rpc,
    "planted": group_planted,
}


def options() -> Options:
    """Read the command line."""
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--src", type=lambda p: Path(p).resolve(), required=True)
    ap.add_argument("--build", type=lambda p: Path(p).resolve(), required=True)
    ap.add_argument("--base-src", type=lambda p: Path(p).resolve())
    ap.add_argument("--base-build", type=lambda p: Path(p).resolve())
    ap.add_argument("--rpc", action="store_true")
    ap.add_argument("--planted", action="store_true")
    ap.add_argument("--quick", action="store_true")
    ap.add_argument("--no-window-on-device", action="store_true", help="for a base that cannot: see README.md")
    ap.add_argument("--tolerance", default="", help="compare logits with this absolute tolerance, and no states")
    ap.add_argument("--only", type=lambda s: s.split(","), default=list(GROUPS))
    ap.add_argument("-v", "--verbose", action="store_true")
    args = ap.parse_args(namespace=Options())
    unknown = set(args.only) - set(GROUPS)
    if unknown:
        ap.error("unknown group: " + ", ".join(sorted(unknown)))
    return args


def main() -> None:
    """Run the groups that were asked for."""
    args = options()
    with tempfile.TemporaryDirectory(prefix="m2-") as tmp:
        run = Run(args, Path(tmp))
        for name, group in GROUPS.items():
            if name in args.only:
                before, t0 = (run.passed, run.failed), time.time()
                group(run)
                passed, failed = run.passed - before[0], run.failed - before[1]
                run.say(f"{name}: {passed} passed, {failed} failed, {time.time() - t0:.0f} s")
    print(f"{run.passed} passed, {run.failed} failed")
    sys.exit(run.failed != 0)


if __name__ == "__main__":
    main()
