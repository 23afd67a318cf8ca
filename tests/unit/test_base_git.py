"""``kind = "git"`` against real repositories made here."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from opencoti_patches.base import gitsource
from opencoti_patches.base.bootstrap import source_tree
from opencoti_patches.base.store import Store
from opencoti_patches.core.config import Source
from opencoti_patches.core.errors import CouldNot, UsageError
from opencoti_patches.core.model import TreeId
from opencoti_patches.core.progress import Silent


def git(where: Path, *args: str, **env: str) -> str:
    clean = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    who = {f"GIT_{w}_{k}": v for w in ("AUTHOR", "COMMITTER") for k, v in (("NAME", "t"), ("EMAIL", "t@t.invalid"))}
    options = ["-c", "protocol.file.allow=always", "-c", "init.defaultBranch=main", "-c", "safe.directory=*"]
    return subprocess.run(
        ["git", *options, *args], cwd=where, check=True, capture_output=True, text=True, env={**clean, **who, **env}
    ).stdout.strip()


def commit(where: Path, **files: str) -> str:
    for name, text in files.items():
        (where / name).write_text(text)
    git(where, "add", "-A")
    git(where, "commit", "-qm", "x")
    return git(where, "rev-parse", "HEAD")


def new(where: Path, **files: str) -> Path:
    where.mkdir(parents=True)
    git(where, "init", "-q")
    commit(where, **files)
    return where


@pytest.fixture(autouse=True)
def quiet_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user of our own, so that a test can configure him."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    for name in ("XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL"):
        monkeypatch.delenv(name, raising=False)
    return home


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def taken(store: Store, url: str | Path, rev: str, *, subdir: str = "", submodules: bool = True) -> TreeId:
    source = Source(kind="git", url=str(url), rev=rev, subdir=subdir, submodules=submodules)
    return source_tree(source, store, progress=Silent())


def listed(store: Store, tree: TreeId) -> dict[str, str]:
    rows = [row.split(b"\t") for row in store.repo.list_tree(tree).split(b"\0")[:-1]]
    blobs = store.repo.blobs(head.split(b" ")[2].decode() for head, _ in rows)
    return {name.decode(): blobs[head.split(b" ")[2].decode()].decode() for head, name in rows}


def test_a_commit_by_every_name(tmp_path: Path, store: Store) -> None:
    repo = new(tmp_path / "up", a="one\n")
    first, tree = git(repo, "rev-parse", "HEAD", "HEAD^{tree}").split()
    git(repo, "tag", "-a", "-m", "t", "v1")
    commit(repo, a="two\n")
    git(repo, "branch", "side", first)
    for rev in (first, first[:9], "v1", "side", "HEAD~1", "main^"):
        assert taken(store, repo, rev) == tree
    for rev in (first, "v1", "side", "refs/tags/v1"):
        assert taken(Store(tmp_path / f"s-{rev[-2:]}"), f"file://{repo}", rev) == tree


def test_no_history_is_fetched(tmp_path: Path, store: Store) -> None:
    repo = new(tmp_path / "up", a="one\n")
    first = git(repo, "rev-parse", "HEAD")
    second = commit(repo, a="two\n")
    taken(store, repo, "main")
    assert store.repo.has(second) and not store.repo.has(first)


def test_once_fetched_it_is_pinned_and_needs_nothing(tmp_path: Path, store: Store) -> None:
    repo = new(tmp_path / "up", a="one\n")
    tree = taken(store, repo, "main")
    commit(repo, a="two\n")
    repo.rename(tmp_path / "gone")
    assert taken(store, repo, "main") == tree


def test_after_a_killed_fetch(tmp_path: Path, store: Store) -> None:
    repo = new(tmp_path / "up", a="one\n")
    store.open()
    (store.repo.path / "shallow.lock").touch()
    assert taken(store, repo, "main")


def test_the_next_fetch_builds_upon_the_last(tmp_path: Path, store: Store) -> None:
    repo = new(tmp_path / "up", big="\n".join(str(i * i) for i in range(100_000)), a="one\n")
    taken(store, repo, "main")
    size = sum(p.stat().st_size for p in store.repo.path.rglob("*") if p.is_file())
    commit(repo, a="two\n")
    assert listed(store, taken(store, repo, "main~0"))["a"] == "two\n"
    assert sum(p.stat().st_size for p in store.repo.path.rglob("*") if p.is_file()) < size + 50_000


def test_bytes_stay_raw(tmp_path: Path, store: Store, quiet_home: Path) -> None:
    repo = new(tmp_path / "up", a="one\r\n")
    (repo / ".gitattributes").write_text("* text eol=crlf ident\n")
    commit(repo, b="$Id$\n")
    (quiet_home / ".gitconfig").write_text(
        "[core]\n\tautocrlf = true\n[fetch]\n\tprune = true\n\trecurseSubmodules = true\n"
    )
    assert taken(store, repo, "main") == git(repo, "rev-parse", "HEAD^{tree}")


def test_another_owners_repository(tmp_path: Path, store: Store) -> None:
    repo = new(tmp_path / "up", a="one\n")
    if os.geteuid() != 0:
        pytest.skip("needs root to give a repository away")
    for path in (repo, *repo.rglob("*")):
        os.chown(path, 12345, 12345, follow_symlinks=False)
    refused = subprocess.run(
        ["git", "-c", "safe.directory=", "-C", repo, "status"],
        capture_output=True,
        env={k: v for k, v in os.environ.items() if k != "SUDO_UID"},
    )
    assert refused.returncode != 0, "this git knows no owners, so the test shows nothing"
    assert taken(store, repo, "main")
    assert taken(Store(tmp_path / "two"), f"file://{repo}", "main")


def test_the_users_configuration_counts(tmp_path: Path, store: Store, quiet_home: Path) -> None:
    repo = new(tmp_path / "up", a="one\n")
    (quiet_home / ".config" / "git").mkdir(parents=True)
    (quiet_home / ".config" / "git" / "config").write_text(f'[url "{tmp_path}/"]\n\tinsteadOf = "far:"\n')
    (quiet_home / ".gitconfig").write_text('[url "far:"]\n\tinsteadOf = "unused:"\n[include]\n\tpath = more\n')
    (quiet_home / "more").write_text(f'[url "{tmp_path}/"]\n\tinsteadOf = "farther:"\n')
    tree = git(repo, "rev-parse", "HEAD^{tree}")
    assert taken(store, "far:up", "main") == tree  # from XDG
    assert taken(store, "farther:up", "main") == tree  # from a file that ~/.gitconfig includes


def test_a_configuration_named_by_the_environment(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo = new(tmp_path / "up", a="one\n")
    (tmp_path / "my config").write_text(f'[url "{tmp_path}/"]\n\tinsteadOf = "far:"\n')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "my config"))
    assert taken(store, "far:up", "main") == git(repo, "rev-parse", "HEAD^{tree}")


def test_a_surrounding_git_does_not_reach_us(tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    repo, other = new(tmp_path / "up", a="one\n"), new(tmp_path / "other", b="x\n")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other / ".git" / "index"))
    assert taken(store, repo, "main") == git(repo, "rev-parse", "HEAD^{tree}")


def test_subdir(tmp_path: Path, store: Store) -> None:
    repo = new(tmp_path / "up", a="one\n")
    (repo / "d" / "e").mkdir(parents=True)
    (repo / "d" / "e" / "f").write_text("x\n")
    commit(repo)
    assert listed(store, taken(store, repo, "main", subdir="d/e")) == {"f": "x\n"}
    for wrong in ("a", "none", "d/none"):
        with pytest.raises(UsageError) as e:
            taken(store, repo, "main", subdir=wrong)
        assert e.value.code == "no-subdir"


def bare(repo: Path) -> str:
    """A copy without a checkout, so without its submodules."""
    git(repo.parent, "clone", "-q", "--bare", str(repo), f"{repo.name}.git")
    git(repo.parent / f"{repo.name}.git", "remote", "rm", "origin")
    return f"file://{repo}.git"


def nested(tmp_path: Path, url: str = "../mid") -> Path:
    """top -> sub/mid -> deep, by relative URLs."""
    new(tmp_path / "deep", d="deep\n")
    mid = new(tmp_path / "mid", m="mid\n")
    git(mid, "submodule", "--quiet", "add", "../deep", "deep")
    commit(mid)
    top = new(tmp_path / "top", t="top\n")
    git(top, "submodule", "--quiet", "add", "--name", "odd", "../mid", "sub/mid")
    git(top, "config", "-f", ".gitmodules", "submodule.odd.url", url)
    commit(top)
    return top


def test_submodules_become_files(tmp_path: Path, store: Store) -> None:
    top = nested(tmp_path)
    for url in (top, f"file://{top}"):
        files = listed(store, taken(store, url, "main"))
        assert {k: v for k, v in files.items() if ".gitmodules" not in k} == {
            "t": "top\n",
            "sub/mid/m": "mid\n",
            "sub/mid/deep/d": "deep\n",
        }


def test_a_submodules_commit_that_no_ref_names(tmp_path: Path, store: Store) -> None:
    top = nested(tmp_path)
    old = git(tmp_path / "mid", "rev-parse", "HEAD")
    commit(tmp_path / "mid", m="newer\n")
    assert git(top, "rev-parse", "HEAD:sub/mid") == old
    assert listed(store, taken(store, f"file://{top}", "main"))["sub/mid/m"] == "mid\n"


def test_subdir_inside_a_submodule(tmp_path: Path, store: Store) -> None:
    top = nested(tmp_path)
    assert listed(store, taken(store, top, "main", subdir="sub/mid/deep")) == {"d": "deep\n"}


def test_subdir_needs_only_its_own_submodules(tmp_path: Path, store: Store) -> None:
    top = nested(tmp_path)
    (top / "plain").mkdir()
    (top / "plain" / "f").write_text("x\n")
    commit(top)
    (tmp_path / "mid").rename(tmp_path / "gone")
    assert listed(store, taken(store, f"file://{top}", "main", subdir="plain")) == {"f": "x\n"}


def test_without_submodules(tmp_path: Path, store: Store) -> None:
    top = nested(tmp_path)
    (tmp_path / "mid").rename(tmp_path / "gone")
    files = listed(store, taken(store, f"file://{top}", "main", submodules=False))
    assert sorted(files) == [".gitmodules", "t"]


def test_a_submodule_is_taken_from_a_checkout_that_has_it(tmp_path: Path, store: Store) -> None:
    top = nested(tmp_path)
    git(top, "submodule", "--quiet", "update", "--init", "--recursive")
    (tmp_path / "mid").rename(tmp_path / "gone")
    (tmp_path / "deep").rename(tmp_path / "gone2")
    assert listed(store, taken(store, top, "main"))["sub/mid/deep/d"] == "deep\n"


def test_a_submodule_relative_to_where_a_clone_came_from(tmp_path: Path, store: Store) -> None:
    nested(tmp_path)
    (tmp_path / "far").mkdir()
    git(tmp_path, "clone", "-q", str(tmp_path / "top"), "far/clone")
    assert listed(store, taken(store, tmp_path / "far" / "clone", "main"))["sub/mid/m"] == "mid\n"


def test_a_submodule_that_cannot_be_had(tmp_path: Path, store: Store) -> None:
    top = nested(tmp_path)
    (tmp_path / "deep").rename(tmp_path / "gone")
    with pytest.raises(CouldNot) as e:
        taken(store, bare(tmp_path / "mid"), "main")
    assert e.value.code == "submodule" and "deep" in e.value.message and "\n" not in e.value.message
    git(top, "rm", "-q", "--cached", ".gitmodules")
    (top / ".gitmodules").unlink()
    commit(top)
    with pytest.raises(CouldNot, match="does not name it"):
        taken(store, top, "main")


@pytest.mark.parametrize("allow", ["user", "always"])
@pytest.mark.parametrize("url", ["ext::sh -c touch% PWNED", "--upload-pack=touch PWNED", "-u./x"])
def test_a_submodules_url_runs_nothing(
    tmp_path: Path, store: Store, url: str, allow: str, quiet_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if allow == "always":
        monkeypatch.setenv("GIT_ALLOW_PROTOCOL", "file:ext")
    (quiet_home / ".gitconfig").write_text(f'[protocol]\n\tallow = user\n[protocol "ext"]\n\tallow = {allow}\n')
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CouldNot) as e:
        taken(store, bare(nested(tmp_path, url)), "main")
    assert e.value.code == "submodule"
    assert not list(tmp_path.rglob("PWNED"))


@pytest.fixture
def served(tmp_path: Path) -> Iterator[str]:
    """tmp_path over plain HTTP, as git's oldest protocol wants it."""

    class Handler(SimpleHTTPRequestHandler):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args, directory=str(tmp_path))

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_over_http(tmp_path: Path, store: Store, served: str) -> None:
    repo = new(tmp_path / "up", a="one\n")
    git(repo, "update-server-info")
    assert taken(store, f"{served}/up/.git", "main") == git(repo, "rev-parse", "HEAD^{tree}")
    with pytest.raises(CouldNot) as e:
        taken(store, f"{served}/none/.git", "main")
    assert e.value.code == "no-repository"


@pytest.mark.parametrize("allowed", [None, "http:file"])
def test_a_far_repository_does_not_reach_local_ones(
    tmp_path: Path, store: Store, served: str, allowed: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the user allows git for what the user names."""
    if allowed:
        monkeypatch.setenv("GIT_ALLOW_PROTOCOL", allowed)
    secret = new(tmp_path / "secret", s="secret\n")
    top = nested(tmp_path, str(secret))
    git(top, "update-index", "--cacheinfo", f"160000,{git(secret, 'rev-parse', 'HEAD')},sub/mid")
    git(top, "commit", "-qm", "x")
    git(top, "update-server-info")
    with pytest.raises(CouldNot) as e:
        taken(store, f"{served}/top/.git", "main")
    assert e.value.code == "submodule" and "not allowed" in e.value.message


def test_a_transport_that_the_user_forbids(
    tmp_path: Path, store: Store, quiet_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo = new(tmp_path / "up", a="one\n")
    (quiet_home / ".gitconfig").write_text('[protocol "file"]\n\tallow = never\n')
    for url in (repo, f"file://{repo}"):
        with pytest.raises(CouldNot, match="git's transport 'file' is not allowed") as e:
            taken(store, url, "main")
        assert e.value.code == "denied"
        assert e.value.hint == "if you trust what is there: 'git config --global protocol.file.allow always'"
    git(repo, *e.value.hint.partition("'git ")[2].rstrip("'").split())
    assert taken(store, repo, "main")
    monkeypatch.setenv("GIT_ALLOW_PROTOCOL", "https:ssh")
    with pytest.raises(CouldNot) as e:
        taken(Store(tmp_path / "two"), repo, "main")
    assert e.value.hint == "GIT_ALLOW_PROTOCOL lists what is allowed: add file to it"


def test_a_submodule_by_a_transport_that_is_not_allowed(tmp_path: Path, store: Store, served: str) -> None:
    secret = new(tmp_path / "secret", s="secret\n")
    top = nested(tmp_path, str(secret))
    git(top, "update-server-info")
    with pytest.raises(CouldNot) as e:
        taken(store, f"{served}/top/.git", "main")
    assert e.value.hint.startswith("clone the repository that names it")
    assert e.value.hint.endswith("; 'submodules = false' leaves submodules out")


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ("[user\n", "bad config line 1 in file "),
        ("[core]\n\tbare = maybe\n", "bad boolean config value 'maybe' for 'core.bare'"),
    ],
)
def test_a_damaged_configuration(config: str, said: str, tmp_path: Path, store: Store, quiet_home: Path) -> None:
    repo = new(tmp_path / "up", a="one\n")
    (quiet_home / ".gitconfig").write_text(config)
    for url in (repo, f"file://{repo}"):
        with pytest.raises(CouldNot) as e:
            taken(store, url, "main")
        assert e.value.code == "git-config"
        assert e.value.message.startswith(f"git cannot read its configuration: {said}")
        assert "mend that file" in e.value.hint


@pytest.mark.parametrize("rev", ["none", "0" * 40, "v9", "abcdef1", "main commit none", "main@{999}"])
def test_a_revision_that_is_not_there(tmp_path: Path, store: Store, rev: str) -> None:
    repo = new(tmp_path / "up", a="one\n")
    for url in (repo, f"file://{repo}"):
        with pytest.raises(CouldNot) as e:
            taken(store, url, rev)
        assert e.value.code == "no-rev" and rev in e.value.message and "\n" not in e.value.message


def test_what_is_no_repository(tmp_path: Path, store: Store) -> None:
    inside = new(tmp_path / "up", a="one\n") / "folder"
    inside.mkdir()
    for url in (inside, tmp_path / "none", f"file://{tmp_path / 'none'}"):
        with pytest.raises(CouldNot) as e:
            taken(store, url, "main")
        assert e.value.code == "no-repository"


@pytest.mark.parametrize("rev", ["main:refs/heads/x", "+main", "-q", "ma*", "a..b", "a b"])
def test_a_revision_that_is_a_refspec(tmp_path: Path, store: Store, served: str, rev: str) -> None:
    new(tmp_path / "up", a="one\n")
    with pytest.raises(UsageError):
        taken(store, f"{served}/up/.git", rev)


def test_trees_of_odd_repositories(tmp_path: Path, store: Store) -> None:
    repo = new(tmp_path / "up", a="one\n")
    blob = git(repo, "rev-parse", "HEAD:a")

    def tagged(name: str, row: str) -> None:
        done = subprocess.run(["git", "mktree"], cwd=repo, input=row, capture_output=True, text=True, check=True)
        git(repo, "tag", name, git(repo, "commit-tree", "-m", "x", done.stdout.strip()))

    raw = f"100664 f\0".encode() + bytes.fromhex(blob)  # noqa: F541
    made = subprocess.run(
        ["git", "hash-object", "-t", "tree", "-w", "--stdin", "--literally"], cwd=repo, input=raw, capture_output=True
    )
    git(repo, "tag", "oldmode", git(repo, "commit-tree", "-m", "x", made.stdout.decode().strip()))
    assert b"100644 blob" in store.open().repo.list_tree(taken(store, repo, "oldmode"))
    raw = b"100644 .git\0" + bytes.fromhex(blob)
    made = subprocess.run(
        ["git", "hash-object", "-t", "tree", "-w", "--stdin", "--literally"], cwd=repo, input=raw, capture_output=True
    )
    git(repo, "tag", "bad", git(repo, "commit-tree", "-m", "x", made.stdout.decode().strip()))
    with pytest.raises(CouldNot) as e:
        taken(store, repo, "bad")
    assert e.value.code == "unsafe-path"


@pytest.mark.parametrize(
    ("parent", "url", "wanted"),
    [
        ("https://h/a/b.git", "../c.git", "https://h/a/c.git"),
        ("https://h/a/b.git/", "../../c", "https://h/c"),
        ("https://h/a/b", "./c", "https://h/a/b/c"),
        ("git@h:a/b.git", "../c.git", "git@h:a/c.git"),
        ("git@h:b.git", "../c.git", "git@h:c.git"),
        ("ssh://git@h:22/a/b", "../c", "ssh://git@h:22/a/c"),
        ("/srv/a/b", "../c", "/srv/a/c"),
        ("/srv/a/b", "../../../c", "/c"),
    ],
)
def test_relative_urls(parent: str, url: str, wanted: str) -> None:
    assert gitsource.relative_url(parent, url) == wanted
