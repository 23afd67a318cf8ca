#!/usr/bin/env python3
"""The head split of the KV cache on a CUDA device, with 0033 and with 0034: time, bandwidth, equality, leaks.

    m2_cuda.py pack FILE.tar.xz      where the project's store is: the patched tree, without what this build doesn't need
    m2_cuda.py run FILE.tar.xz       where the GPU is; asks no network. Builds once in --dir, then measures
        --dir DIR                    keeps source, build, models (default build/m2-cuda); a second run builds nothing
        --only PART,…                of those that main() names
        --trained GGUF               a trained model too: its greedy text, 64 tokens
        --json FILE                  every figure; each part adds to it as soon as it is there
        --cpu                        to try this script where there is no GPU

Needs cmake, a C++ compiler, CUDA's nvcc and cuBLAS. CMAKE_ARGS in the environment goes to cmake. The models are random:
8 KV heads of 128, 8 or 32 layers. docs/m2.md explains the figures.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import struct
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests/m2"))

from gguf_file import F16, U32
from make_models import Model

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
LAST = ROOT / "patches/0034-pinned-host-kv.patch"
KV_HEADS, HEAD_DIM = 8, 128
HEAD_BYTES = {"f16": 2 * HEAD_DIM, "q8_0": HEAD_DIM // 32 * 34}  # of K or V, a cell
LEFT_OUT = [
    *("docs", "models", "media", "benches", "tests", "examples", "pocs", "conversion", "gguf-py", "scripts", "ci"),
    *("requirements", "grammars", "tools/ui", "tools/server", ".github", ".devops"),
    *(f"ggml/src/ggml-{b}" for b in ("vulkan", "opencl", "sycl", "hexagon", "webgpu", "metal", "cann", "openvino")),
]
OPTIONS = {
    "CMAKE_BUILD_TYPE": "Release",
    "CMAKE_BUILD_WITH_INSTALL_RPATH": "ON",
    "CMAKE_INSTALL_RPATH": "$ORIGIN",
    "GGML_NATIVE": "OFF",
    "GGML_AVX2": "ON",
    "GGML_FMA": "ON",
    "GGML_F16C": "ON",
    "GGML_BMI2": "ON",
    "GGML_CUDA_NCCL": "OFF",
    "LLAMA_BUILD_NUMBER": "1",
    "LLAMA_BUILD_COMMIT": "m2",
}
NOT_BUILT = ("LLAMA_BUILD_SERVER", "LLAMA_BUILD_UI", "LLAMA_USE_PREBUILT_UI", "LLAMA_OPENSSL", "LLAMA_BUILD_TESTS")
NOT_BUILT += ("LLAMA_BUILD_EXAMPLES", "LLAMA_BUILD_APP", "GGML_CCACHE")

# what is freed goes back at once, so that what stays is a leak
MALLOC = {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"}

Row = dict[str, Any]


def call(*cmd: str | Path, **env: str) -> None:
    """Say a command and run it."""
    text = [str(c) for c in cmd]
    print("+", " ".join(text), flush=True)
    subprocess.run(text, check=True, env=os.environ | env)


def pack(out: Path) -> None:
    """Write the patched tree, trimmed, into an archive."""
    with tempfile.TemporaryDirectory(prefix="m2-pack-") as tmp:
        call(sys.executable, "-m", "opencoti_patches", "-C", ROOT, "apply", Path(tmp) / "t")
        src = Path(tmp) / "t/llama.cpp"
        for path in LEFT_OUT:
            shutil.rmtree(src / path, ignore_errors=True)
        for path in src.rglob("*"):
            os.utime(path, (1_600_000_000, 1_600_000_000))
        with tarfile.open(out, "w:xz") as tar:
            tar.add(src, "llama.cpp")
    print(f"{out}: {out.stat().st_size / 1e6:.1f} MB")


class FastModel(Model):
    """A model that is large: its weights are made in one go, ±(1 to 2) times a power of two."""

    def __init__(self, layers: int, embd: int) -> None:
        self.random = random.Random(layers)
        super().__init__("llama", 1, layers, embd, 32, KV_HEADS, HEAD_DIM, 2 * embd)
        self.g.drop("context_length")
        self.g.add("llama.context_length", U32, 65536)

    def mat(self, name: str, n_in: int, n_out: int, gain: float = 1.0, *more: int) -> None:
        n, exponent = n_in * n_out, 15
        while 1.53 * 2.0 ** (exponent - 15) > gain / n_in**0.5:
            exponent -= 1
        bits = int.from_bytes(self.random.randbytes(2 * n), "little")  # sign and mantissa stay, the exponent is set
        bits &= int.from_bytes(struct.pack("<H", 0x83FF) * n, "little")
        bits |= int.from_bytes(struct.pack("<H", exponent << 10) * n, "little")
        self.g.tensor(name + ".weight", (n_in, n_out), F16, bits.to_bytes(2 * n, "little"))


class Bench:
    """The build, the models, and the rows that were measured."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args, self.dir = args, Path(args.dir).resolve()
        self.rows: list[Row] = []
        self.failed = 0
        self.bins = {v: self.dir / "bin" / v for v in ("0033", "0034")}

    def keep(self, row: Row, **more: Any) -> Row:
        """Add a row to what was measured."""
        row |= more
        self.rows.append(row)
        if self.args.json:
            Path(self.args.json).write_text(json.dumps(self.rows, indent=1) + "\n")
        return row

    def verdict(self, ok: bool, what: str) -> None:
        """Say a yes or a no."""
        self.failed += not ok
        self.keep({"what": "verdict", "ok": ok, "text": what})
        print("ok  " if ok else "FAIL", what, flush=True)

    def lines(self, version: str, exe: str, *args: str | Path, **more: Any) -> list[Row]:
        """Run one of the programs; its rows."""
        cmd = [str(self.bins[version] / exe), *map(str, args)]
        env = os.environ | (MALLOC if "leak" in args else {})
        done = subprocess.run(cmd, stdout=subprocess.PIPE, text=True, check=False, env=env)
        rows = [
            self.keep(json.loads(x), version=version, **more) for x in done.stdout.splitlines() if x.startswith("{")
        ]
        if done.returncode:
            self.verdict(False, f"{' '.join(cmd)}: exit {done.returncode}")
        return rows

    def model(self, layers: int) -> Path:
        """The random model with so many layers."""
        path = self.dir / f"random-{layers}.gguf"
        if not path.exists():
            FastModel(layers, 64 if self.args.cpu else 1024).dense().write(path)
        return path

    def build(self) -> None:
        """The libraries and programs, with 0034 and, one file recompiled, with 0033."""
        src, build = self.dir / "src", self.dir / "build"
        if not src.exists():
            with tarfile.open(self.args.source) as tar:
                tar.extractall(src, filter="data")
        if self.bins["0033"].exists():
            return self.programs()
        options = OPTIONS | dict.fromkeys(NOT_BUILT, "OFF")
        if not self.args.cpu:
            options |= {"GGML_CUDA": "ON", "CMAKE_CUDA_ARCHITECTURES": arch()}
        extra = os.environ.get("CMAKE_ARGS", "").split()
        ninja = ["-G", "Ninja"] if shutil.which("ninja") else []
        call("cmake", "-S", src / "llama.cpp", "-B", build, *ninja, *(f"-D{k}={v}" for k, v in options.items()), *extra)
        for version in ("0034", "0033"):
            begun = time.monotonic()
            if version == "0033":
                call("patch", "-p1", "-R", "-s", "-d", src, "-i", LAST)
            call("cmake", "--build", build, "--parallel", str(self.args.jobs), "--target", "llama", "llama-bench")
            print(f"built with {version} in {time.monotonic() - begun:.0f} s", flush=True)
            shutil.copytree(build / "bin", self.bins[version], symlinks=True)
        call("patch", "-p1", "-s", "-d", src, "-i", LAST)
        self.programs()

    def programs(self) -> None:
        """The drivers, against either build."""
        src = self.dir / "src/llama.cpp"
        for folder in self.bins.values():
            link = [
                f"-L{folder}",
                "-lllama",
                "-lggml",
                "-lggml-base",
                "-Wl,-rpath,$ORIGIN",
                "-Wl,--allow-shlib-undefined",
            ]
            for source in (HERE / "m2_cuda.cpp", ROOT / "tests/m2/m2_test.cpp"):
                flags = ["-std=c++17", "-O2", f"-I{src}/include", f"-I{src}/ggml/include"]
                call(os.environ.get("CXX", "c++"), *flags, source, "-o", folder / source.stem, *link)
            if not self.args.cpu:
                flags = ["-O2", "-std=c++17", f"-arch=sm_{arch().split('-')[0]}"]
                call("nvcc", *flags, HERE / "m2_cuda_copy.cu", "-o", folder / "m2_cuda_copy")

    def copy(self) -> None:
        """The raw copies: large ones, and those of a step at half of the heads, K and V of each layer."""
        cells = (self.args.depth + 256) // 256 * 256
        sizes = (
            [f"{256 << 20}x4"] + [f"{cells * KV_HEADS // 2 * b}x16" for b in HEAD_BYTES.values()] + [f"{64 << 10}x16"]
        )
        self.lines("0034", "m2_cuda_copy", *sizes)

    def decode(self, part: str, layers: int, **options: Any) -> None:
        """Off, 0.5 and 0.25 with either patch and either type."""
        for kind in HEAD_BYTES:
            for version in ("0033", "0034"):
                flags = [str(x) for k, v in options.items() for x in (f"--{k}", *([] if v is True else [v]))]
                rows = self.lines(
                    version, "m2_cuda", "decode", self.model(layers), "--type", kind, *flags, part=part, layers=layers
                )
                self.compare(rows)
            both = [r["digest"] for r in self.rows if r.get("part") == part and r["type"] == kind]
            half = len(both) // 2
            self.verdict(half > 0 and both[:half] == both[half:], f"{part} {kind}: 0033 and 0034 give the same bits")

    def trained(self) -> None:
        """The greedy text of a trained model."""
        text = "Once upon a time, in a small village by the sea, there lived an old fisherman who"
        for kind in HEAD_BYTES if self.args.trained else ():
            flags = ["--type", kind, "--tokens", "64", "--ubatch", "32", "--noise", "--text", text]
            self.compare(self.lines("0034", "m2_cuda", "decode", self.args.trained, *flags, part="trained"))

    def compare(self, rows: list[Row]) -> None:
        """A split is as near to off as the arithmetic allows: --tolerance times the spread of the logits, or three times
        what halving the micro-batch changes. Another token comes first only where off has the two nearer to each other
        than twice the largest difference."""
        noise = max((r["diff"] for r in rows if r["name"] == "noise"), default=0.0)
        for r in rows:
            if r["name"] == "control" and r["part"] != "trained":
                seen = r["diff"] > self.args.tolerance * r["spread"]
                self.verdict(seen, f"control: one token in 16 of the prompt is another, max |dlogit| {r['diff']:.2g}")
            if r["name"] != "split":
                continue
            allowed = max(self.args.tolerance * r["spread"], 3 * noise)
            near = r["finite"] and r["diff"] <= allowed and r["gap"] <= 2 * r["diff"]
            text = f"{r['texts'] - r['other']} of {r['texts']} best tokens ({r['words']} different) are off's"
            text += f", max |dlogit| {r['diff']:.2g} at a spread of {r['spread']:.2g}"
            text += f", with half the micro-batch {noise:.2g}" if noise else ""
            text += f", the others at most {r['gap']:.2g} behind" if r["other"] else ""
            text += f", {r['state_other']} of {r['state']} bytes of the state" if r["state"] else ""
            self.verdict(near, f"{r['part']} {r['type']} {r['frac']:g}, {r['version']}: {text}")

    def leak(self) -> None:
        """1,000 steps of two sequences, 20 contexts."""
        tokens = 1000 if not self.args.cpu else 200
        rows = self.lines(
            "0034", "m2_cuda", "leak", self.model(8), "--depth", "3000", "--seqs", "2", "--tokens", tokens
        )
        for when in ("steps", "contexts"):
            ends = [r for r in rows if r["when"] == when]
            grown = [ends[-1][k] - ends[0][k] for k in ("device_mib", "rss_mib")] if len(ends) > 1 else [1e9]
            text = " and ".join(f"{g:+.1f} MiB of {m}" for g, m in zip(grown, ("device", "host memory"), strict=False))
            self.verdict(max(grown) <= 8, f"{when} {ends[0]['n']} to {ends[-1]['n']}: {text}" if ends else when)

    def memcheck(self) -> None:
        """A short run under compute-sanitizer."""
        tool = shutil.which("compute-sanitizer")
        if not tool:
            return print("no compute-sanitizer")
        model = self.dir / "tiny.gguf"
        Model("llama", kv_heads=4, head_dim=64).dense().write(model)
        for kind in HEAD_BYTES:
            cmd = [
                tool,
                "--tool",
                "memcheck",
                "--error-exitcode",
                "9",
                str(self.bins["0034"] / "m2_cuda"),
                "decode",
                str(model),
            ]
            cmd += ["--type", kind, "--depth", "300", "--tokens", "4", "--seqs", "2", "--fracs", "1,0.5"]
            done = subprocess.run(cmd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
            errors = [x for x in done.stdout.splitlines() if "ERROR SUMMARY" in x]
            ran = done.stdout.count('"what": "decode"') == 2
            self.verdict(ran and done.returncode == 0, f"memcheck {kind}: {' '.join(errors) or done.stdout[-500:]}")

    def equal(self) -> None:
        """The tests of tests/m2 on this device, with a tolerance."""
        models = self.dir / "tiny"
        call(sys.executable, ROOT / "tests/m2/make_models.py", models)
        three = [models / f"{m}.gguf" for m in ("llama", "gemma3", "gpt-oss")]
        tests = [
            ["equal", *three],
            ["streams", *three],
            ["place", *three],
            ["auto", *three],
            ["long", three[0]],
            ["refuse", models],
        ]
        for test in tests[:2] if self.args.cpu else tests:
            cmd = [self.bins["0034"] / "m2_test", "--quick", "--tolerance", "0.15", *test]
            done = subprocess.run([str(c) for c in cmd], stdout=subprocess.PIPE, text=True, check=False, cwd=self.dir)
            out = done.stdout.splitlines() or [""]
            self.verdict(done.returncode == 0, f"m2_test {test[0]}: {' | '.join(out[-2:])}")
            print("\n".join([x for x in out if x.startswith("FAIL")][:8]), flush=True)

    def bench(self) -> None:
        """llama-bench, as a second witness of the times."""
        args = ["-p", "0", "-n", "32", "-d", str(self.args.depth), "-fa", "1", "-r", "2", "-t", "1", "-o", "jsonl"]
        for kind in HEAD_BYTES:
            flags = ["-m", self.model(8), "-ctk", kind, "-ctv", kind, "-kvghf", "1,0.5,0.25", *args]
            for r in self.lines("0034", "llama-bench", *flags, what="bench", type=kind):
                print(
                    f"llama-bench {kind} kvghf {r['kv_gpu_head_frac']}: {1000 / r['avg_ts']:.2f} ms a token", flush=True
                )

    def table(self) -> None:
        """The figures: a step's bytes over the time that it adds, and over all of its time."""
        for r in (r for r in self.rows if r["what"] == "copy"):
            print(f"copy of {r['n']} x {r['bytes'] / 1e6:.2f} MB, {r['kind']}: {r['gbs']:.1f} GB/s")
        print(
            f"{'':34} {'ms a token':>10} {'MB a token':>10} {'GB/s of added':>13} {'of all':>6}  host half in, device MiB, init ms"
        )
        off = 0.0
        for r in (r for r in self.rows if r["what"] == "decode" and "layers" in r):
            off = r["ms"] if r["name"] == "off" else off
            host = round(KV_HEADS * (1 - r["frac"]))
            size = r["layers"] * r["cells"] * host * 2 * HEAD_BYTES[r["type"]] * r["seqs"] / 1e6
            rate = f"{size / (r['ms'] - off):13.1f} {size / r['ms']:6.1f}" if host and r["ms"] > off else " " * 20
            name = (
                f"{r['part']} {r['version']} {r['type']} {r['frac']:g} {r['name']}, {r['layers']} layers, {r['cells']}"
            )
            print(
                f"{name:34} {r['ms']:10.2f} {size:10.0f} {rate}  {r['host_name']}, {r['device_mib']:.0f}, {r['init_ms']:.0f}"
            )


def arch() -> str:
    """The machine's GPU, as cmake names it."""
    cmd = ["nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader"]
    cap = subprocess.run(cmd, check=True, capture_output=True, text=True).stdout.split()[0]
    return cap.replace(".", "") + "-real"


def main() -> int:
    """Pack, or build and measure."""
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("command", choices=["pack", "run"])
    ap.add_argument("source", type=Path)
    ap.add_argument("--dir", type=Path, default=ROOT / "build/m2-cuda")
    ap.add_argument("--only", type=lambda s: s.split(","), default=[])
    ap.add_argument("--trained", type=Path)
    ap.add_argument("--json", type=Path)
    ap.add_argument("--jobs", type=int, default=os.cpu_count())
    ap.add_argument("--depth", type=int, default=23_029)
    ap.add_argument("--tolerance", type=float, default=0.05)
    ap.add_argument("--cpu", action="store_true")
    args = ap.parse_args()
    if args.command == "pack":
        pack(args.source)
        return 0
    b, d = Bench(args), args.depth
    parts = {
        "build": b.build,
        "copy": b.copy if not args.cpu else lambda: None,
        "main": lambda: b.decode("main", 8, depth=d, tokens=48, noise=True),
        "fixed": lambda: b.decode("fixed", 8, depth=100, tokens=48),
        "threads": lambda: b.decode("threads", 8, depth=d, tokens=24, threads=8),
        "deep": lambda: b.decode("deep", 32, depth=d, tokens=16),
        "long": lambda: b.decode("long", 8, depth=d * 14 // 10, tokens=24, seqs=2, ctx=32768),
        "trained": b.trained,
        "leak": b.leak,
        "memcheck": b.memcheck if not args.cpu else lambda: None,
        "equal": b.equal,
        "bench": b.bench,
    }
    b.dir.mkdir(parents=True, exist_ok=True)
    for name, part in parts.items():
        if not args.only or name in args.only:
            begun = time.monotonic()
            part()
            print(f"-- {name}: {time.monotonic() - begun:.0f} s", flush=True)
    b.table()
    print(f"{sum(r['what'] == 'verdict' for r in b.rows) - b.failed} passed, {b.failed} failed")
    return int(b.failed > 0)


if __name__ == "__main__":
    sys.exit(main())
