"""A server of llama.cpp's contract, as a program that a toy project builds: it stands alone, and does as its arguments say.

``--toy MODE`` lets it misbehave. WORD, LOGPROB and REACH are what patches of the tests change.
"""

import http.server
import json
import os
import re
import signal
import subprocess
import sys
import time

WORD = " Paris"
LOGPROB = -0.25
REACH = 100000  # how many words back it remembers


def option(name: str, default: str) -> str:
    """The last one given, as llama.cpp takes it."""
    at = [i for i, word in enumerate(sys.argv) if word == name]
    return sys.argv[at[-1] + 1] if at else default


MODE = option("--toy", "good")


def answer(prompt: str) -> str:
    """A code that the prompt tells, else the word."""
    told = list(re.finditer(r"secret code is (\d+)", prompt))
    if not told:
        return WORD
    return f" {told[0][1]}." if len(prompt[told[0].end() :].split()) <= REACH else " not known."


class Handler(http.server.BaseHTTPRequestHandler):
    """Three paths."""

    def log_message(self, *_: object) -> None:
        """Say nothing of requests."""

    def say(self, status: int, body: bytes) -> None:
        """One answer."""
        self.send_response(status)
        self.send_header("Content-Length", str(len(body) + (9 if MODE == "short" and self.command == "POST" else 0)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        """/health."""
        if MODE == "mute":
            time.sleep(600)
        self.say(503 if MODE == "loading" else 200, b"{}")

    def do_POST(self) -> None:
        """/v1/completions and /tokenize."""
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/tokenize":
            return self.say(200, json.dumps({"tokens": asked["content"].split()}).encode())
        if MODE == "crash":
            print("GGML_ASSERT(a == b) failed", flush=True)
            os.abort()
        if MODE == "asleep":
            time.sleep(600)
        if MODE in ("refuses", "garbled", "strange"):
            said = {"refuses": b'{"error": "no"}', "garbled": b"<html>", "strange": b"[]"}[MODE]
            return self.say(500 if MODE == "refuses" else 200, said)
        text = {"empty": " \n", "replaced": "a\ufffdb", "halved": "a\ud800"}.get(MODE, answer(asked["prompt"]))
        number = {"nan": float("nan"), "null": None}.get(MODE, LOGPROB)
        row = {"token": text, "logprob": number, "top_logprobs": [{"token": text, "logprob": number}]}
        choice = {"text": text, "logprobs": None if MODE == "silent" else {"content": [row]}}
        body = json.dumps({"choices": [choice]}).encode()
        self.say(200, body.replace(b"Paris", b"Par\xff") if MODE == "garbage" else body)


def main() -> None:
    """Serve until a signal comes."""
    proxies = sorted(k for k in os.environ if k.lower().endswith("_proxy") and k.lower() != "no_proxy")
    print(f"pid {os.getpid()} host {option('--host', '')} proxies {proxies} home {os.environ['HOME']}", flush=True)
    print(f"more {os.environ.get('LLAMA_ARG_HOST')} {os.environ.get('TOY')}", flush=True)
    print(f"library {os.environ.get('GGML_BACKEND_PATH')}", flush=True)
    if MODE == "dies":
        print("error: this model has no tensors", flush=True)
        sys.exit(3)
    if MODE == "litters":
        print(f"child {subprocess.Popen(['sleep', '600']).pid}", flush=True)
    if MODE == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    elif MODE != "killed":
        signal.signal(signal.SIGTERM, lambda *_: os._exit(7 if MODE == "sour" else 0))
    if MODE == "deaf":
        time.sleep(600)
    http.server.ThreadingHTTPServer((option("--host", ""), int(option("--port", "0"))), Handler).serve_forever()


main()
