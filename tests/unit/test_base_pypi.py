"""``kind = "pypi-sdist"`` through pip's configuration, against simple indexes served here."""

from __future__ import annotations

import base64
import configparser
import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from test_base_net import Site, serving

from opencoti_patches.base import bootstrap, pypi
from opencoti_patches.base.bootstrap import base_if_ready, ensure_base, source_sha256, source_tree
from opencoti_patches.base.store import Store
from opencoti_patches.core.config import Config, Source
from opencoti_patches.core.errors import CouldNot, OpencotiError, UsageError
from opencoti_patches.core.progress import Silent
from opencoti_patches.doors import net


def sdist(version: str, *more: str, top: str = "") -> bytes:
    """A source distribution whose build would give itself away."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as t:
        for name, data in (
            ("PKG-INFO", f"Name: a.pkg\nVersion: {version}\n"),
            ("setup.py", "raise SystemExit('a build backend was run')\n"),
            ("vendor/x/src/f.c", f"int v = {version!r};\n"),
            ("vendor/x/.git", "gitdir: ../../.git/modules/x\n"),
            (".git/config", "[core]\n"),
            *((m, m) for m in more),
        ):
            info = tarfile.TarInfo(f"{top or 'a_pkg-' + version}/{name}" if not name.startswith("!") else name[1:])
            info.size = len(data.encode())
            t.addfile(info, io.BytesIO(data.encode()))
    return out.getvalue()


def sum_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


VERSIONS = {v: sdist(v) for v in ("1.0", "1.1", "1.2rc1", "1.3")}


def publish(site: Site, form: str, *, hashes: bool = True, index: str = "/simple") -> None:
    """Put the versions, and a wheel of 1.1, into an index: "html" (PEP 503) or "json" (PEP 691)."""
    files = {f"a_pkg-{v}.tar.gz": data for v, data in VERSIONS.items()}
    files["a_pkg-1.1-py3-none-any.whl"] = b"no sdist"
    for name, data in files.items():
        site.files[f"/files/{name}"] = ("application/gzip", data)
    page = f"{index}/a-pkg/"
    if form == "json":
        rows = [
            {
                "filename": name,
                "url": f"../../files/{name}",
                "hashes": {"sha256": sum_of(data)} if hashes else {},
                "yanked": "broken" if "1.3" in name else False,
                "requires-python": ">=99",
            }
            for name, data in files.items()
        ]
        body = json.dumps({"meta": {"api-version": "1.0"}, "name": "a-pkg", "files": rows}).encode()
        site.files[page] = ("application/vnd.pypi.simple.v1+json", body)
    else:
        links = "".join(
            f'<a href="../../files/{name}{"#sha256=" + sum_of(data) if hashes else ""}"'
            f'{" data-yanked=broken" if "1.3" in name else ""} data-requires-python="&gt;=99">{name}</a>\n'
            for name, data in files.items()
        )
        site.files[page] = ("text/html", f"<!DOCTYPE html><html><body>{links}</body></html>".encode())


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """A server, and a pip that is set up for its index and nothing else."""
    for name in list(os.environ):
        if name.startswith("PIP_") or name.lower() in ("http_proxy", "https_proxy", "all_proxy"):
            monkeypatch.delenv(name)
    monkeypatch.setattr(net, "_FIRST_PAUSE", 0.01)
    monkeypatch.setenv("HOME", str(tmp_path))
    with serving() as served:
        configure(tmp_path, monkeypatch, f"[global]\nindex-url = {served.url}/simple\n")
        yield served


PYTHON = sys.executable


def configure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, *, real: bool = False) -> None:
    """Set pip up. ``real`` asks pip itself, which takes seconds; otherwise a script says what pip would."""
    (tmp_path / "pip.conf").write_text(text)
    monkeypatch.setenv("PIP_CONFIG_FILE", str(tmp_path / "pip.conf"))
    monkeypatch.setattr(sys, "executable", PYTHON)
    if not real:
        parsed = configparser.RawConfigParser()
        parsed.read_string(text)
        rows = [f"{section}.{key}={value!r}\n" for section in parsed.sections() for key, value in parsed.items(section)]
        (tmp_path / "said").write_text("".join(rows))
        (tmp_path / "python").write_text(f'#!/bin/sh\n[ "$*" = "-m pip config list" ] && cat "{tmp_path}/said"\n')
        (tmp_path / "python").chmod(0o755)
        monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def of(version: str = "1.1", sha256: str | None = None, subdir: str = "vendor/x", package: str = "a.pkg") -> Source:
    wanted = sum_of(VERSIONS.get(version, b"")) if sha256 is None else sha256
    return Source(kind="pypi-sdist", package=package, version=version, sha256=wanted, subdir=subdir)


def contents(store: Store, source: Source) -> list[str]:
    tree = source_tree(source, store, progress=Silent())
    return [row.split(b"\t")[1].decode() for row in store.repo.list_tree(tree).split(b"\0")[:-1]]


def failure(store: Store, source: Source) -> OpencotiError:
    with pytest.raises(OpencotiError) as e:
        source_tree(source, store, progress=Silent())
    assert "\n" not in e.value.message
    return e.value


@pytest.mark.parametrize("form", ["json", "html"])
@pytest.mark.parametrize("version", ["1.0", "1.1", "1.2rc1", "1.3"])
def test_an_exact_version(site: Site, store: Store, form: str, version: str) -> None:
    """A pre-release, a yanked one, one for another Python, and one that has a wheel too."""
    publish(site, form)
    tree = source_tree(of(version), store, progress=Silent())
    blobs = [row.split(b"\t")[0].split(b" ")[2].decode() for row in store.repo.list_tree(tree).split(b"\0")[:-1]]
    assert store.repo.blobs(blobs)[blobs[0]] == f"int v = {version!r};\n".encode()
    assert contents(store, of(version)) == ["src/f.c"]
    assert not any("whl" in path for _, path, _ in site.asked)


def test_the_top_folder_goes_and_git_with_it(site: Site, store: Store) -> None:
    publish(site, "json")
    assert contents(store, of(subdir="")) == ["PKG-INFO", "setup.py", "vendor/x/src/f.c"]


def test_offline_from_then_on(site: Site, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(site, "json")
    here = Path("/nonexistent")
    project = Config(root=here, name="t", sources=(of(),), patches=here, tree=here)
    tree = ensure_base(project, store, progress=Silent())
    asked = len(site.asked)
    monkeypatch.setattr(pypi, "pip_settings", lambda: pytest.fail("pip was asked"))
    assert base_if_ready(project, store) == ensure_base(project, store, progress=Silent()) == tree
    for record in store.bases.iterdir():
        record.unlink()
    assert ensure_base(project, store, progress=Silent()) == tree
    assert contents(store, of(subdir="")) == ["PKG-INFO", "setup.py", "vendor/x/src/f.c"]
    assert len(site.asked) == asked


def test_a_kept_download_counts_for_its_own_version_alone(site: Site, store: Store) -> None:
    publish(site, "html", hashes=False)
    contents(store, of("1.0"))
    old = sum_of(VERSIONS["1.0"])
    (store.downloads / f"{old}.part").write_bytes(VERSIONS["1.0"])  # nor does what a killed run left
    error = failure(store, of("1.1", sha256=old))
    assert error.code == "wrong-sha256" and sum_of(VERSIONS["1.1"]) in error.message
    assert failure(store, of("1.0", sha256=old, package="b.pkg")).code == "no-sdist"
    asked = len(site.asked)
    assert contents(store, of("1.0", package="A_pkg")) == ["src/f.c"]
    assert len(site.asked) == asked


def test_a_store_from_before_there_were_notes(site: Site, store: Store) -> None:
    publish(site, "html", hashes=False)
    contents(store, of("1.0"))
    old = sum_of(VERSIONS["1.0"])
    (store.downloads / f"{old}.from.json").unlink()
    for record in store.bases.iterdir():  # as an old one, which may have been of another version's file
        known = {k: v for k, v in json.loads(record.read_bytes()).items() if k != "origin"}
        (store.bases / bootstrap._name(of("1.1", sha256=old).key())).write_text(json.dumps(known))
    assert failure(store, of("1.1", sha256=old)).code == "wrong-sha256"
    asked = len(site.asked)
    assert contents(store, of("1.0", subdir="vendor")) == ["x/src/f.c"]
    assert len(site.asked) == asked


def test_a_missing_sum_is_computed_and_said(site: Site, store: Store) -> None:
    publish(site, "json")
    for _ in range(2):  # the second time from what was kept
        error = failure(store, of(sha256=""))
        assert isinstance(error, UsageError)
        line = f'sha256 = "{sum_of(VERSIONS["1.1"])}"'
        assert (error.code, error.hint) == ("missing-sha256", line)
    assert source_sha256(of(sha256=""), store, progress=Silent()) == sum_of(VERSIONS["1.1"])
    asked = len(site.asked)
    assert asked == 2
    assert contents(store, of()) == ["src/f.c"]
    assert len(site.asked) == asked


def test_a_wrong_sum_costs_no_download_where_the_index_tells(site: Site, store: Store) -> None:
    publish(site, "html")
    error = failure(store, of(sha256="0" * 64))
    assert error.code == "wrong-sha256"
    assert "0" * 64 in error.message and sum_of(VERSIONS["1.1"]) in error.message
    assert [path for _, path, _ in site.asked] == ["/simple/a-pkg/"]


def test_a_wrong_sum_where_it_does_not(site: Site, store: Store) -> None:
    publish(site, "html", hashes=False)
    error = failure(store, of(sha256="0" * 64))
    assert error.code == "wrong-sha256" and sum_of(VERSIONS["1.1"]) in error.message
    assert list(store.downloads.iterdir()) == []


def test_a_dropped_connection(site: Site, store: Store) -> None:
    publish(site, "json")
    size = len(VERSIONS["1.1"])
    site.drop_after = [10**9, size // 3, size // 3]
    assert contents(store, of()) == ["src/f.c"]
    assert [r for _, _, r in site.asked] == ["", "", f"bytes={size // 3}-", f"bytes={size // 3 * 2}-"]


def test_a_version_that_is_not_there(site: Site, store: Store) -> None:
    publish(site, "json")
    error = failure(store, of("1.0.5", sha256=""))
    assert error.code == "no-sdist" and error.hint == "the newest: 1.3, 1.2rc1, 1.1; the nearest: 1.0 and 1.1"
    assert failure(store, of("9.9", sha256="")).hint == "the newest: 1.3, 1.2rc1, 1.1; the nearest: 1.3"
    error = failure(store, of(package="other", sha256=""))
    assert error.code == "no-sdist" and "404" in error.message and f"{site.url}/simple" in error.hint


@pytest.mark.parametrize(("package", "version"), [("a.pkg", "1.*"), ("a.pkg", "latest"), ("a/b", "1.0"), ("-r", "1.0")])
def test_what_is_no_name_or_version(site: Site, store: Store, package: str, version: str) -> None:
    assert failure(store, of(version, sha256="", package=package)).code == "bad-value"


def test_no_index_to_be_reached(site: Site, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    configure(tmp_path, monkeypatch, "[global]\nindex-url = http://127.0.0.1:1/simple\n")
    error = failure(store, of())
    assert isinstance(error, CouldNot) and "127.0.0.1 cannot be reached" in error.message


def test_the_next_place_helps(site: Site, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unreachable, without the package, with the page but not the file, with another file: then the right one."""
    publish(site, "json", index="/good")
    publish(site, "json", hashes=False, index="/torn")
    site.files["/torn/a-pkg/"] = (
        site.files["/torn/a-pkg/"][0],
        site.files["/torn/a-pkg/"][1].replace(b"/files/", b"/lost/"),
    )
    fake = site.files["/good/a-pkg/"][1].replace(sum_of(VERSIONS["1.1"]).encode(), b"1" * 64)
    site.files["/fake/a-pkg/"] = (site.files["/good/a-pkg/"][0], fake)
    more = " ".join(f"{site.url}/{name}" for name in ("empty", "torn", "fake", "good"))
    configure(tmp_path, monkeypatch, f"[global]\nindex-url = http://127.0.0.1:1/simple\nextra-index-url = {more}\n")
    assert contents(store, of()) == ["src/f.c"]


def test_nothing_more_is_asked_once_it_is_found(
    site: Site, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(site, "json")
    configure(tmp_path, monkeypatch, f"[global]\nindex-url = {site.url}/simple\nextra-index-url = {site.url}/more\n")
    contents(store, of())
    assert not any("more" in path for _, path, _ in site.asked)


@pytest.mark.parametrize("kind", ["folder", "page", "url"])
def test_find_links_without_an_index(
    site: Site, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    (wheels / "a_pkg-1.1.tar.gz").write_bytes(VERSIONS["1.1"])
    page = b'<a href="a_pkg-1.1.tar.gz">x</a>'
    (tmp_path / "links.html").write_bytes(page.replace(b'"a', b'"wheels/a'))
    site.files["/links/"] = ("text/html", page)
    site.files["/links/a_pkg-1.1.tar.gz"] = ("application/gzip", VERSIONS["1.1"])
    place = {"folder": "~/wheels", "page": str(tmp_path / "links.html"), "url": f"{site.url}/links/"}[kind]
    configure(
        tmp_path, monkeypatch, f"[global]\nno-index = true\nfind-links =\n    {tmp_path}/none\n    {place}\n", real=True
    )
    assert contents(store, of()) == ["src/f.c"]
    assert not any("simple" in path for _, path, _ in site.asked)


def test_an_index_of_files(store: Store, site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "simple" / "a-pkg"
    folder.mkdir(parents=True)
    (tmp_path / "a_pkg-1.1.tar.gz").write_bytes(VERSIONS["1.1"])
    (folder / "index.html").write_text('<a href="../../a_pkg-1.1.tar.gz">x</a>')
    configure(tmp_path, monkeypatch, f"[global]\nindex-url = file://{tmp_path}/simple\n")
    assert contents(store, of()) == ["src/f.c"]


def test_a_private_index(site: Site, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(site, "json")
    site.password = "Basic " + base64.b64encode(b"me:s3cret").decode()
    error = failure(store, of())
    assert "401" in error.message
    login = site.url.replace("//", "//me:s3cret@")
    configure(tmp_path, monkeypatch, f"[global]\nindex-url = {login}/simple\n", real=True)
    assert contents(store, of()) == ["src/f.c"]
    assert "s3cret" not in (e := failure(store, of("9"))).message + e.hint


def test_the_environment_wins(site: Site, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(site, "json")
    configure(
        tmp_path,
        monkeypatch,
        "[global]\nindex-url = http://127.0.0.1:1/a\n[install]\nindex-url = http://127.0.0.1:1/b\n",
        real=True,
    )
    monkeypatch.setenv("PIP_INDEX_URL", f"{site.url}/simple")
    assert contents(store, of()) == ["src/f.c"]


def test_an_interpreter_without_pip(site: Site, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(site, "json")
    (tmp_path / "bin").mkdir()
    python, pip = tmp_path / "bin" / "python", tmp_path / "bin" / "pip"
    python.write_text("#!/bin/sh\necho 'No module named pip' >&2\nexit 1\n")
    pip.write_text(f"#!/bin/sh\necho \"global.index-url='{site.url}/simple'\"\n")
    python.chmod(0o755)
    pip.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    assert contents(store, of()) == ["src/f.c"]
    pip.write_text("#!/bin/sh\nexit 1\n")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:1/from-variables")
    assert pypi.pip_settings().indexes == ("http://127.0.0.1:1/from-variables",)


def test_pips_configuration_is_read_safely() -> None:
    text = (
        "global.cert='/a b/ca.pem'\n"
        "global.extra-index-url='\\nhttps://one/simple\\nhttps://two/simple'\n"
        'global.index-url="https://h/it\'s=odd"\n'
        "install.find-links='/x'\n"
        "download.timeout='7'\n"
        "list.index-url='https://wrong'\n"
        "global.proxy=__import__('os').system('touch PWNED')\n"
        ":env:.find-links='/opt/wheels https://w/'\n"
        ":env:.trusted-host='h one:8080'\n"
        "garbage\n"
    )
    settings = pypi.settings_from(pypi.read_config(text))
    assert settings.indexes == ("https://h/it's=odd", "https://one/simple", "https://two/simple")
    assert settings.find_links == ("/opt/wheels", "https://w/")
    connection = settings.connection
    assert (connection.cert, connection.timeout, connection.proxy) == ("/a b/ca.pem", 7.0, "")
    assert connection.trusted_hosts == ("h", "one:8080")
    assert pypi.settings_from({}).indexes == (pypi.DEFAULT_INDEX,)
    assert pypi.settings_from({"no-index": "1", "extra-index-url": "https://one/"}).indexes == ()


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (sdist("1.1", "!README"), "bad-archive"),  # something beside the top folder
        (sdist("1.1", "!a_pkg-1.1/vendor/x/../../../up"), "unsafe-archive"),
        (b"no archive", "bad-archive"),
    ],
)
def test_a_bad_sdist(site: Site, store: Store, data: bytes, code: str) -> None:
    publish(site, "html", hashes=False)
    site.files["/files/a_pkg-1.1.tar.gz"] = ("application/gzip", data)
    assert failure(store, of(sha256=sum_of(data))).code == code


def test_nothing_heavy_until_it_is_needed() -> None:
    """A warm check reads records; it must not pay for the network and archives."""
    code = (
        "import sys, opencoti_patches.base.bootstrap, opencoti_patches.base.directory\n"
        "print([m for m in ('unearth', 'httpx2', 'tarfile', 'zipfile', 'ssl', 'git', 'packaging') if m in sys.modules])"
    )
    done = subprocess.run([PYTHON, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.network
def test_the_real_registry(store: Store) -> None:
    source = Source(
        kind="pypi-sdist",
        package="tomli",
        version="2.0.1",
        sha256="de526c12914f0c550d15924c62d72abc48d6fe7364aa87328337a31007fe8a4f",
        subdir="src",
    )
    assert "tomli/_parser.py" in contents(store, source)
