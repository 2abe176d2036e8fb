"""A program that kills its own children while they save.

`python killing.py moments|steps|two-steps|new HOME ONE OTHER` prints a JSON object a kill: what was found in place of
the model, and what was left beside it. A process of its own, for it forks, and a test runner with threads must not.
"""

import itertools
import json
import os
import random
import shutil
import signal
import sys
import time
from pathlib import Path

from anyformer.errors import ModelFileError
from anyformer.exports import load_folder, placing, save_folder
from anyformer.networks.digest import digest


def child(work):
    """Fork; the child works until it is done or killed."""
    pid = os.fork()
    if pid == 0:
        try:
            work()
            os._exit(0)
        finally:
            os._exit(1)
    return pid


def was_killed(pid):
    _, status = os.waitpid(pid, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, "a child failed of itself"
    return os.WIFSIGNALED(status)


def at_random_moments(folder, versions, rounds):
    """Kill children that save one version over the other without end."""
    draw = random.Random(0)
    start = time.monotonic()
    save_folder(folder, *versions[0])
    save_folder(folder, *versions[0], overwrite=True)
    duration = time.monotonic() - start
    for k in range(rounds):
        reader, writer = os.pipe()

        def work(writer=writer, first=k):
            os.write(writer, b"!")
            for k in itertools.count(first):
                save_folder(folder, *versions[k % 2], overwrite=True)

        pid = child(work)
        os.read(reader, 1)
        os.close(reader), os.close(writer)
        time.sleep(draw.uniform(0.0, 2 * duration))
        os.kill(pid, signal.SIGKILL)
        assert was_killed(pid)
        yield


def at_every_step(folder, versions, is_new):
    """Kill a child before its first action on the file system, then one before its second, and so on."""
    for step in itertools.count():
        shutil.rmtree(folder.parent)
        folder.parent.mkdir()
        if not is_new:
            save_folder(folder, *versions[0])

        def work(step=step):
            actions = itertools.count()

            def hook(event, _):
                # Lookups in the C library come just before the call that swaps two folders.
                if event.startswith(("os.", "open", "ctypes.dlsym", "fcntl.")) and next(actions) == step:
                    os.kill(os.getpid(), signal.SIGKILL)

            sys.addaudithook(hook)
            save_folder(folder, *versions[1], overwrite=True)

        killed = was_killed(child(work))
        yield
        if not killed:
            return


def version_in(folder, versions):
    """Which version a folder holds, or why it cannot be loaded."""
    try:
        loaded = digest(load_folder(folder)[0])
    except ModelFileError as error:
        return str(error)
    return [digest(network) for network, _ in versions].index(loaded)


def whole_beside(folder, versions, scratch):
    """The versions found whole beside a folder, once they are given a model's name."""
    found = []
    for path in placing.leftovers(folder):
        assert isinstance(version_in(path, versions), str), "a leftover was read as a model"
        shutil.rmtree(scratch, ignore_errors=True)
        shutil.copytree(path, scratch)
        found.append(version_in(scratch, versions))
    return [version for version in found if version in (0, 1)]


def main(how, home, one, other):
    versions = [load_folder(Path(one)), load_folder(Path(other))]
    folder = Path(home) / "place" / "model"
    folder.parent.mkdir()
    if how == "two-steps":
        placing.exchange = lambda *_: False
    kills = (
        at_random_moments(folder, versions, 20) if how == "moments" else at_every_step(folder, versions, how == "new")
    )
    for _ in kills:
        found = {"place": version_in(folder, versions), "beside": whole_beside(folder, versions, Path(home) / "copy")}
        print(json.dumps(found))
    # Whatever was left goes with the next save.
    save_folder(folder, *versions[0], overwrite=True)
    print(json.dumps({"place": version_in(folder, versions), "names": os.listdir(folder.parent)}))


if __name__ == "__main__":
    main(*sys.argv[1:])
