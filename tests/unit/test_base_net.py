"""Downloads from a real server on this machine: whole and verified, or not there."""

from __future__ import annotations

import contextlib
import hashlib
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from opencoti_patches.core.errors import CouldNot, UsageError
from opencoti_patches.core.progress import Silent
from opencoti_patches.doors import net

BODY = bytes(range(256)) * 4096  # 1 MiB
SUM = hashlib.sha256(BODY).hexdigest()


class Site:
    """What a test server serves and has been asked."""

    def __init__(self) -> None:
        self.files: dict[str, tuple[str, bytes]] = {}  # path: (content type, body)
        self.asked: list[tuple[str, str, str]] = []  # method, path, Range
        self.ranges = True
        self.etag = '"one"'
        self.drop_after: list[int] = []  # bytes after which the next connections are cut
        self.status: list[int] = []  # answers before the real one
        self.password = ""
        self.url = ""


class _Handler(BaseHTTPRequestHandler):
    site: Site

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def do_GET(self) -> None:
        self._answer(body=True)

    def _answer(self, *, body: bool) -> None:
        site = self.site
        wanted = self.headers.get("Range", "")
        site.asked.append((self.command, self.path, wanted))
        if site.status:
            self.send_error(site.status.pop(0))
            return
        if site.password and self.headers.get("Authorization") != site.password:
            self.send_error(401)
            return
        if self.path not in site.files:
            self.send_error(404)
            return
        kind, data = site.files[self.path]
        start = 0
        if wanted and site.ranges and self.headers.get("If-Range", site.etag) == site.etag:
            start = int(wanted.removeprefix("bytes=").removesuffix("-"))
            if start >= len(data):
                self.send_response(416)
                self.send_header("Content-Range", f"bytes */{len(data)}")
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data) - start))
        if site.etag:
            self.send_header("ETag", site.etag)
        self.end_headers()
        if body:
            upto = start + site.drop_after.pop(0) if site.drop_after else len(data)
            with contextlib.suppress(OSError):
                self.wfile.write(data[start:upto])
        self.close_connection = True


@contextlib.contextmanager
def serving() -> Iterator[Site]:
    """A server of its own on 127.0.0.1."""
    site = Site()
    handler = type("Handler", (_Handler,), {"site": site})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    site.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(net, "_FIRST_PAUSE", 0.01)
    with serving() as served:
        served.files["/f.tar.gz"] = ("application/gzip", BODY)
        yield served


def fetch(url: str, target: Path, sha256: str = SUM) -> str:
    return net.download(url, target, sha256=sha256, progress=Silent())


def test_whole_file_with_progress(site: Site, tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []

    class Seen:
        def update(self, what: str, done: int = 0, total: int = 0, unit: str = "") -> None:
            seen.append((done, total))
            assert "f.tar.gz" in what and unit == "bytes"

    assert net.download(f"{site.url}/f.tar.gz", tmp_path / "t", sha256=SUM, progress=Seen()) == SUM
    assert (tmp_path / "t").read_bytes() == BODY
    assert seen[-1] == (len(BODY), len(BODY)) and len(seen) > 1
    assert [p.name for p in tmp_path.iterdir()] == ["t"]


@pytest.mark.parametrize("ranges", [True, False])
def test_resumes_a_part(site: Site, tmp_path: Path, ranges: bool) -> None:
    site.ranges = ranges
    (tmp_path / "t.part").write_bytes(BODY[:700_000])
    fetch(f"{site.url}/f.tar.gz", tmp_path / "t")
    assert (tmp_path / "t").read_bytes() == BODY
    assert site.asked == [("GET", "/f.tar.gz", "bytes=700000-")]


def test_a_whole_part_is_only_renamed(site: Site, tmp_path: Path) -> None:
    (tmp_path / "t.part").write_bytes(BODY)
    fetch(f"{site.url}/f.tar.gz", tmp_path / "t")
    assert (tmp_path / "t").read_bytes() == BODY


@pytest.mark.parametrize("junk", [b"x" * 1000, b"x" * (len(BODY) + 5), b"x" * len(BODY)])
def test_a_part_of_something_else_is_started_over(site: Site, tmp_path: Path, junk: bytes) -> None:
    (tmp_path / "t.part").write_bytes(junk)
    fetch(f"{site.url}/f.tar.gz", tmp_path / "t")
    assert (tmp_path / "t").read_bytes() == BODY


def test_dropped_connections_are_carried_on(site: Site, tmp_path: Path) -> None:
    site.drop_after = [300_000, 300_000, 1, 300_000]
    fetch(f"{site.url}/f.tar.gz", tmp_path / "t")
    assert (tmp_path / "t").read_bytes() == BODY
    starts = [int(r[6:-1]) for _, _, r in site.asked if r]
    assert starts == [300_000, 600_000, 600_001, 900_001]


def test_a_file_replaced_meanwhile_is_started_over(site: Site, tmp_path: Path) -> None:
    site.drop_after = [300_000]
    old, other = site.files["/f.tar.gz"], ("application/gzip", b"y" * 500_000)

    class Replace:
        def update(self, what: str, done: int = 0, total: int = 0, unit: str = "") -> None:
            if "carrying on" in what:
                site.files["/f.tar.gz"], site.etag = other, '"two"'

    got = net.download(f"{site.url}/f.tar.gz", tmp_path / "t", progress=Replace())
    assert old != other and got == hashlib.sha256(other[1]).hexdigest()


def test_without_a_sum_a_part_needs_the_servers_word(site: Site, tmp_path: Path) -> None:
    (tmp_path / "t.part").write_bytes(b"x" * 1000)
    assert fetch(f"{site.url}/f.tar.gz", tmp_path / "t", "") == SUM
    assert site.asked == [("GET", "/f.tar.gz", "")]


def test_a_kill_leaves_a_part_that_the_next_run_uses(site: Site, tmp_path: Path) -> None:
    class Killed(BaseException):
        pass

    class Kill:
        def update(self, what: str, done: int = 0, total: int = 0, unit: str = "") -> None:
            if done > 500_000:
                raise Killed

    with pytest.raises(Killed):
        net.download(f"{site.url}/f.tar.gz", tmp_path / "t", progress=Kill())
    assert not (tmp_path / "t").exists()
    assert fetch(f"{site.url}/f.tar.gz", tmp_path / "t", "") == SUM
    assert int(site.asked[-1][2][6:-1]) > 500_000


def test_wrong_sum(site: Site, tmp_path: Path) -> None:
    wrong = "0" * 64
    with pytest.raises(CouldNot) as e:
        fetch(f"{site.url}/f.tar.gz", tmp_path / "t", wrong)
    assert e.value.code == "wrong-sha256" and wrong in e.value.message and SUM in e.value.message
    assert list(tmp_path.iterdir()) == []


def test_a_busy_server_is_asked_again(site: Site, tmp_path: Path) -> None:
    site.status = [503, 429]
    assert fetch(f"{site.url}/f.tar.gz", tmp_path / "t") == SUM


def _refused(status: int) -> Callable[[Site], str]:
    def prepare(site: Site) -> str:
        site.status = [status] * 9
        return f"{site.url}/f.tar.gz"

    return prepare


@pytest.mark.parametrize(
    ("prepare", "code", "times"),
    [
        (_refused(404), "not-found", 1),
        (_refused(403), "denied", 1),
        (_refused(500), "http", 4),
        (_refused(418), "http", 1),
        (lambda site: "http://name.invalid/f", "network", 0),
        (lambda site: "http://127.0.0.1:1/f", "network", 0),
    ],
)
def test_errors_are_one_line_with_a_hint(
    site: Site, tmp_path: Path, prepare: Callable[[Site], str], code: str, times: int
) -> None:
    with pytest.raises(CouldNot) as e:
        fetch(prepare(site), tmp_path / "t")
    assert (e.value.code, len(site.asked)) == (code, times)
    assert e.value.hint and "\n" not in e.value.message


def test_endless_drops_end(site: Site, tmp_path: Path) -> None:
    site.drop_after = [0] * 9
    with pytest.raises(CouldNot) as e:
        fetch(f"{site.url}/f.tar.gz", tmp_path / "t")
    assert e.value.code == "network" and len(site.asked) == 4


def test_a_silent_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import socket

    monkeypatch.setattr(net, "_TRIES", 1)
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        s.listen()
        with pytest.raises(CouldNot) as e:
            net.download(
                f"http://127.0.0.1:{s.getsockname()[1]}/f",
                tmp_path / "t",
                progress=Silent(),
                connection=net.Connection(timeout=0.2),
            )
    assert e.value.code == "timeout"


def test_a_certificate_nobody_vouches_for(tmp_path: Path) -> None:
    import shutil
    import ssl
    import subprocess

    if shutil.which("openssl") is None:
        pytest.skip("needs openssl to make a certificate")
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1"),
            *("-addext", "subjectAltName=IP:127.0.0.1", "-keyout", tmp_path / "key", "-out", tmp_path / "cert"),
        ],
        check=True,
        capture_output=True,
    )
    with serving() as site:
        site.files["/f"] = ("application/gzip", BODY)
        # The same site once more, behind TLS.
        handler = type("Handler", (_Handler,), {"site": site})
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(tmp_path / "cert", tmp_path / "key")
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        url = f"https://127.0.0.1:{server.server_port}/f"
        try:
            with pytest.raises(CouldNot) as e:
                fetch(url, tmp_path / "t")
            assert e.value.code == "tls" and "\n" not in e.value.message
            for trusting in (net.Connection(cert=str(tmp_path / "cert")), net.Connection(trusted_hosts=("127.0.0.1",))):
                (tmp_path / "t").unlink(missing_ok=True)
                net.download(url, tmp_path / "t", sha256=SUM, progress=Silent(), connection=trusting)
                assert (tmp_path / "t").read_bytes() == BODY
        finally:
            server.shutdown()
            server.server_close()


def test_through_a_proxy(site: Site, tmp_path: Path) -> None:
    site.files["http://example.invalid/f"] = ("application/gzip", BODY)  # a proxy is asked for whole URLs
    connection = net.Connection(proxy=site.url)
    net.download("http://example.invalid/f", tmp_path / "t", sha256=SUM, progress=Silent(), connection=connection)
    assert (tmp_path / "t").read_bytes() == BODY


def test_bad_settings_are_usage_errors(tmp_path: Path) -> None:
    for connection in (net.Connection(cert=str(tmp_path / "none")), net.Connection(proxy="ftp://x")):
        with pytest.raises(UsageError):
            net.download("http://127.0.0.1:1/f", tmp_path / "t", progress=Silent(), connection=connection)
    with pytest.raises(UsageError):
        fetch("gopher://x/y", tmp_path / "t")


def test_credentials_of_the_index_are_used_and_not_shown(site: Site, tmp_path: Path) -> None:
    import base64

    site.password = "Basic " + base64.b64encode(b"me:secret").decode()
    with_login = site.url.replace("//", "//me:secret@")
    connection = net.Connection(index_urls=(f"{with_login}/simple",))
    got = net.download(f"{site.url}/f.tar.gz", tmp_path / "t", progress=Silent(), connection=connection)
    assert got == SUM
    with pytest.raises(CouldNot) as e:
        fetch(f"{with_login}/none", tmp_path / "t")
    assert e.value.code == "not-found" and "secret" not in e.value.message


def test_local_files(tmp_path: Path) -> None:
    (tmp_path / "a b").write_bytes(BODY)
    fetch((tmp_path / "a b").as_uri(), tmp_path / "t")
    fetch(str(tmp_path / "a b"), tmp_path / "u")
    assert (tmp_path / "t").read_bytes() == (tmp_path / "u").read_bytes() == BODY
    with pytest.raises(CouldNot) as e:
        fetch(str(tmp_path / "none"), tmp_path / "t")
    assert e.value.code == "not-found"
