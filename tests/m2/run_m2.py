#!/usr/bin/env python3
"""Prove the head split of the KV cache on a built tree.

    run_m2.py --src TREE --build BUILD [--base-src TREE --base-build BUILD] [--rpc] [--planted] [--only GROUP,...] [--quick]

TREE is a llama.cpp source tree, BUILD its CMake build with at least the target llama; --rpc needs rpc-server and a build
with GGML_RPC=ON too. The base tree is the one without the patches.

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
from pathlib import Path

HERE = Path(__file__).resolve().parent
EQUAL_MODELS = ["llama", "gemma3", "gpt-oss"]


class Run:
    def __init__(self, args):
        self.args = args
        self.passed = self.failed = 0

    def check(self, ok, what):
        self.passed += ok
        self.failed += not ok
        if not ok or self.args.verbose:
            print(("ok   " if ok else "FAIL ") + what, flush=True)

    def say(self, text):
        print(text, flush=True)


def compile_test(src, build, out):
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


def test(run, exe, label, *args, count=True, timeout=3600):
    """Run m2_test and take over its checks. Returns its output lines and its exit status."""
    p = subprocess.run(
        [str(exe), *map(str, args)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        cwd=run.tmp,
        timeout=timeout,
    )
    lines = p.stdout.splitlines()
    if count:
        passed, failed = 0, 0
        for line in lines:
            if line.startswith(("ok   ", "FAIL ")):
                passed += line.startswith("ok")
                failed += line.startswith("FAIL")
                run.check(line.startswith("ok"), f"{label}: {line[5:]}")
        m = re.match(r"(\d+) passed, (\d+) failed", lines[-1]) if lines else None
        whole = (
            m and (int(m[1]), int(m[2])) == (passed, failed) and passed + failed > 0 and p.returncode == (failed > 0)
        )
        run.check(
            bool(whole),
            f"{label}: ran to its end" + ("" if whole else f" - exit {p.returncode}: " + " | ".join(lines[-3:])),
        )
    return lines, p.returncode


def group_models(run):
    again = run.tmp / "models-again"
    subprocess.run([sys.executable, str(HERE / "make_models.py"), str(again)], check=True)
    for f in sorted(run.models.iterdir()):
        run.check(
            f.read_bytes() == (again / f.name).read_bytes(), f"models: {f.name} has the same bytes when made again"
        )
    shutil.rmtree(again)


def group_base(run):
    if not run.args.base_build:
        run.say("skip base: no --base-build")
        return
    base_exe = compile_test(run.args.base_src, run.args.base_build, run.tmp / "m2_test_base")
    models = [run.models / f"{m}.gguf" for m in EQUAL_MODELS]
    want, rc0 = test(run, base_exe, "base", *run.quick, "digest", *models, count=False)
    got, rc1 = test(run, run.exe, "base", *run.quick, "digest", *models, count=False)
    run.check(
        rc0 == 0 and rc1 == 0 and len(want) == len(got) and len(want) > 10,
        f"base: both builds ran ({len(want)} and {len(got)} lines)",
    )
    for a, b in zip(want, got):
        run.check(a == b, f"base: {a}" if a == b else f"base: {a}\n  got: {b}")


def group_equal(run):
    for m in EQUAL_MODELS:
        test(run, run.exe, "equal", *run.quick, "equal", run.models / f"{m}.gguf")


def group_streams(run):
    models = [run.models / f"{m}.gguf" for m in EQUAL_MODELS]
    test(run, run.exe, "streams", "streams", *models)
    test(run, run.exe, "auto", "auto", *models)
    test(run, run.exe, "long", "long", models[0])


def group_dir(name):
    return lambda run: test(run, run.exe, name, name, run.models)


class RpcServer:
    def __init__(self, build, log):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        self.log = open(log, "w")
        self.p = subprocess.Popen(
            [str(build / "bin" / "rpc-server"), "-H", "127.0.0.1", "-p", str(self.port), "-t", "1", "-d", "CPU"],
            stdout=self.log,
            stderr=subprocess.STDOUT,
        )

    def __enter__(self):
        for _ in range(100):
            if self.p.poll() is not None:
                raise RuntimeError("rpc-server ended: " + Path(self.log.name).read_text()[-500:])
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return self
            except OSError:
                time.sleep(0.1)
        raise RuntimeError("rpc-server does not answer")

    def __exit__(self, *a):
        self.p.terminate()
        try:
            self.p.wait(10)
        except subprocess.TimeoutExpired:
            self.p.kill()
            self.p.wait()
        self.log.close()


def group_rpc(run):
    if not run.args.rpc:
        return
    with RpcServer(run.args.build, run.tmp / "rpc.log") as srv:
        opt = ["--rpc", f"127.0.0.1:{srv.port}"]
        models = [run.models / f"{m}.gguf" for m in EQUAL_MODELS]
        for m in models:
            test(run, run.exe, "rpc place", *opt, "place", m)
        for m in models:
            test(run, run.exe, "rpc equal", *opt, *run.quick, "equal", m)
        test(run, run.exe, "rpc half offloaded", *opt, "--ngl", "2", "--quick", "equal", models[0])
        test(run, run.exe, "rpc streams", *opt, "streams", *models)
        test(run, run.exe, "rpc auto", *opt, "auto", *models)
        test(run, run.exe, "rpc long", *opt, "long", models[0])
        test(run, run.exe, "rpc refuse", *opt, "refuse", run.models)


def ninja(build):
    subprocess.run(
        ["ninja", "-C", str(build), f"-j{os.environ.get('JOBS', '2')}", "llama"], check=True, stdout=subprocess.DEVNULL
    )


def group_planted(run):
    if not run.args.planted:
        return
    root = run.args.src.parent
    patches = sorted((HERE / "planted").glob("*.patch"))
    run.check(len(patches) >= 3, f"planted: {len(patches)} bugs")
    for patch in patches:
        text = patch.read_text()
        want = re.search(r"^Expect: (.*)$", text, re.M)[1]
        placement = re.search(r"^Run: place$", text, re.M)
        if placement and not run.args.rpc:
            run.say(f"skip planted {patch.stem}: no --rpc")
            continue
        apply = ["patch", "-p1", "-F0", "-s", "-d", str(root), "-i", str(patch)]
        subprocess.run(apply, check=True)
        try:
            ninja(run.args.build)
            if placement:
                with RpcServer(run.args.build, run.tmp / "rpc.log") as srv:
                    opt = ["--rpc", f"127.0.0.1:{srv.port}"]
                    lines, rc = test(run, run.exe, patch.stem, *opt, "place", run.models / "llama.gguf", count=False)
            else:
                lines, rc = test(run, run.exe, patch.stem, "--quick", "equal", run.models / "llama.gguf", count=False)
        finally:
            subprocess.run([*apply, "-R"], check=True)
        red = [line for line in lines if line.startswith("FAIL ")]
        hit = [line for line in red if re.search(want, line)]
        run.check(
            rc != 0 and bool(hit),
            f"planted: {patch.stem} turns {len(red)} checks red"
            + (f", e.g. {hit[0][5:]}" if hit else f", none of them with {want!r}"),
        )
    ninja(run.args.build)
    lines, rc = test(run, run.exe, "planted", "--quick", "equal", run.models / "llama.gguf", count=False)
    run.check(rc == 0, "planted: green again without the bugs")


GROUPS = {
    "models": group_models,
    "base": group_base,
    "equal": group_equal,
    "streams": group_streams,
    "refuse": group_dir("refuse"),
    "heads": group_dir("heads"),
    "blocks": group_dir("blocks"),
    "rpc": group_rpc,
    "planted": group_planted,
}


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--src", type=lambda p: Path(p).resolve(), required=True)
    ap.add_argument("--build", type=lambda p: Path(p).resolve(), required=True)
    ap.add_argument("--base-src", type=lambda p: Path(p).resolve())
    ap.add_argument("--base-build", type=lambda p: Path(p).resolve())
    ap.add_argument("--rpc", action="store_true")
    ap.add_argument("--planted", action="store_true")
    ap.add_argument("--quick", action="store_true")
    ap.add_argument("--only", type=lambda s: s.split(","), default=list(GROUPS))
    ap.add_argument("-v", "--verbose", action="store_true")
    args = ap.parse_args()
    unknown = set(args.only) - set(GROUPS)
    if unknown:
        ap.error("unknown group: " + ", ".join(sorted(unknown)))

    run = Run(args)
    run.quick = ["--quick"] if args.quick else []
    with tempfile.TemporaryDirectory(prefix="m2-") as tmp:
        run.tmp = Path(tmp)
        run.models = run.tmp / "models"
        subprocess.run([sys.executable, str(HERE / "make_models.py"), str(run.models)], check=True)
        run.exe = compile_test(args.src, args.build, run.tmp / "m2_test")
        for name, group in GROUPS.items():
            if name in args.only:
                before, t0 = (run.passed, run.failed), time.time()
                group(run)
                run.say(
                    f"{name}: {run.passed - before[0]} passed, {run.failed - before[1]} failed, {time.time() - t0:.0f} s"
                )
    print(f"{run.passed} passed, {run.failed} failed")
    sys.exit(run.failed != 0)


if __name__ == "__main__":
    main()
