"""Files and folders are the old ones or the new ones, whole, whatever fails and whenever the process is killed."""

import json
import subprocess
import sys

import pytest

from anyformer import atomic
from anyformer.atomic import atomic_file, atomic_folder, write_text

# Kills a child before its first action on the file system, another before its second, and so on until one is not
# killed; prints what each has left. A process of its own, for it forks, and a test runner with threads must not.
KILLING = """
import itertools, json, os, shutil, signal, sys
from pathlib import Path
from anyformer.atomic import atomic_file, atomic_folder

home, kind = Path(sys.argv[1]), sys.argv[2]

def write(content):
    if kind == "file":
        with atomic_file(home / "x") as file:
            file.write(content.encode())
        return
    with atomic_folder(home / "x") as part:
        (part / "a").write_text(content)
        (part / "inner").mkdir()
        (part / "inner" / "b").write_text(content)

def found():
    place = home / "x"
    if kind == "file":
        return place.read_text()
    return [(place / name).read_text() for name in ("a", "inner/b")]

for step in itertools.count():
    shutil.rmtree(home)
    home.mkdir()
    write("old")
    pid = os.fork()
    if pid == 0:
        actions = itertools.count()
        def hook(event, _):
            # Lookups in the C library come just before the call that swaps two folders.
            if event.startswith(("os.", "open", "ctypes.dlsym", "shutil.")) and next(actions) == step:
                os.kill(os.getpid(), signal.SIGKILL)
        sys.addaudithook(hook)
        write("new")
        os._exit(0)
    killed = os.WIFSIGNALED(os.waitpid(pid, 0)[1])
    print(json.dumps([killed, found()]))
    write("next")
    assert "next" in found() and sorted(path.name for path in home.glob(".x.part")) == []
    if not killed:
        break
"""


@pytest.mark.skipif(not hasattr(atomic, "fcntl") or sys.platform != "linux", reason="folders are exchanged on Linux")
@pytest.mark.parametrize(("kind", "old", "new"), [("file", "old", "new"), ("folder", ["old"] * 2, ["new"] * 2)])
def test_a_kill_at_any_step_leaves_the_old_or_the_new(tmp_path, kind, old, new):
    (tmp_path / "home").mkdir()
    command = [sys.executable, "-c", KILLING, str(tmp_path / "home"), kind]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    *kills, (was_killed, last) = [json.loads(line) for line in done.stdout.splitlines()]
    assert not was_killed
    assert last == new
    assert len(kills) >= 2
    assert all(killed for killed, _ in kills)
    assert {json.dumps(found) for _, found in kills} <= {json.dumps(old), json.dumps(new)}
    assert kills[0][1] == old


def failing(*_):
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_full_disk_leaves_what_was_there(tmp_path, monkeypatch, step):
    file, folder = tmp_path / "file", tmp_path / "folder"
    write_text(file, "old")
    with atomic_folder(folder) as part:
        (part / "a").write_text("old")
    monkeypatch.setattr(atomic, "exchange", lambda *_: step == "replace" and failing())
    monkeypatch.setattr(atomic.os, step, failing)
    with pytest.raises(OSError, match="No space"):
        write_text(file, "new")
    with pytest.raises(OSError, match="No space"), atomic_folder(folder) as part:
        (part / "a").write_text("new")
    assert file.read_text() == (folder / "a").read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]


def interrupted(file):
    file.write(b"half")
    raise KeyboardInterrupt


def test_an_error_of_the_writer_leaves_what_was_there(tmp_path):
    write_text(tmp_path / "file", "old")
    with pytest.raises(KeyboardInterrupt), atomic_file(tmp_path / "file") as file:
        interrupted(file)
    with pytest.raises(KeyError), atomic_folder(tmp_path / "folder"):
        raise KeyError
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_text() == "old"


def test_a_disk_that_cannot_exchange_folders_will_do(tmp_path, monkeypatch):
    monkeypatch.setattr(atomic, "exchange", lambda *_: False)
    for content in ("old", "new"):
        with atomic_folder(tmp_path / "folder") as part:
            (part / content).touch()
    assert [path.name for path in (tmp_path / "folder").iterdir()] == ["new"]
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_what_a_killed_writer_left_is_removed(tmp_path):
    left = tmp_path / ".folder.part"
    left.mkdir()
    (left / "half").touch()
    with atomic_folder(tmp_path / "folder") as part:
        (part / "whole").touch()
    assert [path.name for path in (tmp_path / "folder").iterdir()] == ["whole"]
    assert not left.exists()
