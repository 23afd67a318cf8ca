"""The door to the network: one download, whole and verified or not there."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote, urlsplit, urlunsplit

from opencoti_patches.core.errors import CouldNot, OpencotiError, UsageError
from opencoti_patches.core.progress import Progress
from opencoti_patches.doors import fs

if TYPE_CHECKING:
    import ssl

    import httpx2
    from unearth.fetchers.sync import PyPIClient

_CHUNK = 1 << 18
_TRIES = 4  # attempts in a row that bring no new byte
_FIRST_PAUSE = 0.4  # seconds; doubles each time
_RETRIED = {408, 425, 429, 500, 502, 503, 504}


class Connection(NamedTuple):
    """How to reach servers, in pip's words. Empty: what the environment says (``HTTPS_PROXY``,
    ``SSL_CERT_FILE``, netrc)."""

    cert: str = ""  # CA bundle, a file or a folder
    client_cert: str = ""
    proxy: str = ""
    trusted_hosts: tuple[str, ...] = ()  # host or host:port whose certificate is not checked
    timeout: float = 15.0
    index_urls: tuple[str, ...] = ()  # may carry credentials for the files below them


@contextlib.contextmanager
def client(connection: Connection) -> Iterator[PyPIClient]:
    """An HTTP client under these settings. Errors: UsageError ``bad-cert``, ``bad-proxy``."""
    import httpx2
    from unearth.auth import MultiDomainBasicAuth
    from unearth.fetchers.sync import PyPIClient

    try:
        mounts = {
            f"all://{host}": httpx2.HTTPTransport(verify=False, proxy=_proxy(connection, host), retries=1)
            for host in connection.trusted_hosts
        }
        made = PyPIClient(
            trusted_hosts=connection.trusted_hosts,
            verify=_tls(connection),
            proxy=connection.proxy or None,
            timeout=connection.timeout,
            mounts=mounts,  # the client's own for trusted hosts would go around the proxy
            follow_redirects=True,
            auth=MultiDomainBasicAuth(prompting=False, index_urls=connection.index_urls),
        )
    except (ValueError, httpx2.InvalidURL) as e:
        raise UsageError("bad-proxy", f"the proxy setting cannot be used: {e}", "look at 'pip config list'") from None
    with made:
        yield made


def _tls(connection: Connection) -> ssl.SSLContext | bool:
    if not connection.cert and not connection.client_cert:
        return True
    import ssl

    cert = os.path.expanduser(connection.cert)
    try:
        context = ssl.create_default_context(
            cafile=cert if cert and not os.path.isdir(cert) else None, capath=cert if os.path.isdir(cert) else None
        )
        if connection.client_cert:
            context.load_cert_chain(os.path.expanduser(connection.client_cert))
    except OSError as e:  # SSLError is one
        raise UsageError(
            "bad-cert", f"the certificate setting cannot be used: {e}", "look at cert in 'pip config list'"
        ) from None
    return context


def _proxy(connection: Connection, host: str) -> str | None:
    if connection.proxy:
        return connection.proxy
    from urllib.request import getproxies, proxy_bypass

    proxies = getproxies()
    found = None if proxy_bypass(host) else proxies.get("https") or proxies.get("all") or proxies.get("http")
    return found if not found or "://" in found else f"http://{found}"


def shown(url: str) -> str:
    """A URL for people: without credentials, query and fragment."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path, "", "")) if parts.scheme else url


def local_path(url: str) -> Path | None:
    """The file that a ``file:`` URL or a plain path names; None for anything else."""
    if url.startswith("file:"):
        return Path(unquote(urlsplit(url).path))
    return None if "://" in url else Path(url)


def sha256_of(path: Path) -> str:
    """The file's sum. Errors: CouldNot ``disk``."""
    with fs.disk_errors(f"read {path}"), open(path, "rb") as f:
        return hashlib.file_digest(f, "sha256").hexdigest()


def download(
    url: str, target: Path, *, sha256: str = "", progress: Progress, connection: Connection | None = None
) -> str:
    """Bring ``url`` (http, https, file, or a plain path) to ``target``; its sha256.

    It is written to ``target`` + ``.part``, carried on from there after a kill or a lost connection,
    and renamed only when its sum is ``sha256`` (empty: any). Errors: CouldNot ``wrong-sha256`` (the part
    is deleted), ``not-found``, ``denied``, ``network``, ``tls``, ``proxy``, ``timeout``, ``http``, ``disk``;
    UsageError ``bad-url``.
    """
    part, tag = Path(f"{target}.part"), Path(f"{target}.part.json")
    source = local_path(url)
    with fs.disk_errors(f"write {part}"):
        part.parent.mkdir(parents=True, exist_ok=True)
        if source is not None:
            _copy(source, part, progress)
            resumed = False
        else:
            resumed = _fetch(url, part, tag, progress, connection or Connection(), trusted=bool(sha256))
        got = sha256_of(part)
        if resumed and sha256 and got != sha256:
            # What lay there may have been of another file: the whole once more, before anyone is blamed.
            part.unlink()
            _fetch(url, part, tag, progress, connection or Connection(), trusted=True)
            got = sha256_of(part)
        if sha256 and got != sha256:
            part.unlink()
            tag.unlink(missing_ok=True)
            raise CouldNot(
                "wrong-sha256",
                f"{shown(url)} has sha256 {got}, expected {sha256}",
                "if the file was meant to change, put the new sum into opencoti.toml; otherwise do not trust it",
            )
        with open(part, "rb") as f:
            os.fsync(f.fileno())
        os.replace(part, target)
        fs.fsync(target.parent)
        tag.unlink(missing_ok=True)
    return got


def _copy(source: Path, part: Path, progress: Progress) -> None:
    if not source.is_file():
        raise CouldNot("not-found", f"{source} is not there", "look at the path; a relative one is from opencoti.toml")
    total, done = source.stat().st_size, 0
    with open(source, "rb") as a, open(part, "wb") as b:
        while chunk := a.read(_CHUNK):
            b.write(chunk)
            done += len(chunk)
            progress.update(f"copying {source.name}", done, total, "bytes")


def _fetch(url: str, part: Path, tag: Path, progress: Progress, connection: Connection, *, trusted: bool) -> bool:
    """Fill ``part``. True if a part of an earlier run was built upon. ``trusted``: a sum will be checked."""
    import httpx2

    validator = _validator(tag, url)
    if not (trusted or validator):
        part.unlink(missing_ok=True)  # nothing would show that the rest belongs to it
    resumed, tries = part.exists() and part.stat().st_size > 0, 0
    with client(connection) as http:
        while True:
            before = part.stat().st_size if part.exists() else 0
            try:
                return _attempt(http, url, part, tag, progress) and resumed
            except (httpx2.InvalidURL, httpx2.UnsupportedProtocol) as e:
                raise UsageError("bad-url", f"{shown(url)}: {e}", "http, https and file are known") from None
            except _Again as e:
                failure, again = e.error, True
            except httpx2.HTTPError as e:
                failure, again = explain(e, url)
            after = part.stat().st_size if part.exists() else 0
            tries = 1 if after > before else tries + 1
            if not again or tries >= _TRIES:
                raise failure from None
            progress.update(f"connection lost, carrying on with {_name(url)}", after)
            time.sleep(_FIRST_PAUSE * 2 ** (tries - 1))


class _Again(Exception):
    """A server's answer that may be another one in a moment."""

    def __init__(self, error: OpencotiError) -> None:
        super().__init__(error.message)
        self.error = error


def _attempt(http: PyPIClient, url: str, part: Path, tag: Path, progress: Progress) -> bool:
    """One request. True if what ``part`` held was kept."""
    have = part.stat().st_size if part.exists() else 0
    headers = {"Accept-Encoding": "identity"}  # the bytes as they lie there, or no sum would fit
    if have:
        headers["Range"] = f"bytes={have}-"
        if validator := _validator(tag, url):
            headers["If-Range"] = validator
    with http.stream("GET", url, headers=headers) as answer:
        if answer.status_code == 416 and have:
            if answer.headers.get("Content-Range", "").replace(" ", "") == f"bytes*/{have}":
                return True  # it was whole already
            part.unlink()
            raise _Again(
                CouldNot("http", f"{shown(url)}: the server cannot carry on an earlier download", "run it again")
            )
        _judge(answer, url)
        kept = answer.status_code == 206
        if kept and not answer.headers.get("Content-Range", "").lower().startswith(f"bytes {have}-"):
            part.unlink()
            raise _Again(
                CouldNot("http", f"{shown(url)}: the server sent another piece than asked for", "run it again")
            )
        done = have if kept else 0
        length = answer.headers.get("Content-Length", "")
        total = done + int(length) if length.isdigit() else 0
        _remember(tag, url, answer)
        with open(part, "ab" if kept else "wb") as f:
            for chunk in answer.iter_raw():  # as it comes: with a size, a lost connection takes a piece along
                f.write(chunk)
                done += len(chunk)
                progress.update(f"downloading {_name(url)}", done, total, "bytes")
    return kept


def _judge(answer: httpx2.Response, url: str) -> None:
    status = answer.status_code
    if status in (200, 206):
        return
    says = f"{shown(url)}: {status} {answer.reason_phrase}".strip()
    if status in (404, 410):
        raise CouldNot("not-found", says, "look at the version or the URL; a mirror may lack the file")
    if status in (401, 403):
        raise CouldNot("denied", says, "credentials come from the index URL in pip's configuration or from ~/.netrc")
    if status == 407:
        raise CouldNot("proxy", says, "the proxy wants credentials: http://user:password@host:port")
    error = CouldNot("http", says, "try again later")
    if status in _RETRIED:
        raise _Again(error)
    raise error


def _validator(tag: Path, url: str) -> str:
    """The ETag or date of the download that ``tag`` belongs to, if it was of this URL."""
    known = fs.read_json(tag)
    return str(known.get("validator", "")) if isinstance(known, dict) and known.get("url") == shown(url) else ""


def _remember(tag: Path, url: str, answer: httpx2.Response) -> None:
    etag = answer.headers.get("ETag", "")
    validator = etag if etag.startswith('"') else answer.headers.get("Last-Modified", "")  # weak ones bind no bytes
    fs.write(tag, json.dumps({"url": shown(url), "validator": validator}).encode(), sync=False)


def _name(url: str) -> str:
    return unquote(urlsplit(url).path).rpartition("/")[2] or shown(url)


def explain(error: httpx2.HTTPError, url: str) -> tuple[CouldNot, bool]:
    """What a client's error means: (the error to raise, whether trying again may help)."""
    import socket
    import ssl

    import httpx2

    where = urlsplit(url).hostname or shown(url)
    causes: list[BaseException] = []
    at: BaseException | None = error
    while at is not None and at not in causes:
        causes.append(at)
        at = at.__cause__ or at.__context__
    if any(isinstance(c, ssl.SSLError) for c in causes):
        why = next((c.verify_message for c in causes if isinstance(c, ssl.SSLCertVerificationError)), "") or str(error)
        hint = "name your CA bundle: 'pip config set global.cert FILE' or SSL_CERT_FILE"
        return CouldNot("tls", f"the TLS certificate of {where} is not accepted: {why}", hint), False
    if isinstance(error, httpx2.ProxyError):
        return CouldNot(
            "proxy", f"the proxy does not let us to {where}: {error}", "look at HTTPS_PROXY and pip's proxy"
        ), False
    if isinstance(error, httpx2.TimeoutException):
        hint = "try again, or give it longer: 'pip config set global.timeout 60'"
        return CouldNot("timeout", f"{where} does not answer in time", hint), True
    hint = "check the network; a proxy is taken from pip's configuration or HTTPS_PROXY"
    if any(isinstance(c, socket.gaierror) for c in causes) or "Name or service" in str(error):
        return CouldNot("network", f"no network: the name {where} cannot be resolved", hint), False
    if isinstance(error, httpx2.ConnectError):
        return CouldNot("network", f"{where} cannot be reached: {error}", hint), True
    return CouldNot("network", f"the connection to {where} was lost: {error}", "run it again: it carries on"), True
