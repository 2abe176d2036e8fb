"""What is refused, what is cleaned up, and what is left alone."""

import errno
import os
import re
import resource
import shutil
import stat
from dataclasses import replace

import numpy as np
import pytest

from anyformer import atomic
from anyformer.errors import ModelFileError
from anyformer.exports import load_folder, placing, save_folder
from anyformer.networks import BlockShape, FeedForwardStage, Network
from anyformer.networks.digest import digest


def everything(folder):
    """All that is under a folder, to tell whether anything was changed."""
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


@pytest.fixture
def refuses(models, tmp_path):
    """Check that a save is refused with a message, and that nothing at all has changed on the disk."""

    def check(message, folder, overwrite=True, model=None):
        model = model or models[0]
        before = everything(tmp_path)
        with pytest.raises(ModelFileError, match=message):
            save_folder(folder, model.network, model.certificate, overwrite)
        assert everything(tmp_path) == before

    return check


def test_a_hard_network(models, refuses, tmp_path):
    hard = replace(models[0], network=models[0].construction.hard_network)
    refuses("only networks of softmax and ReLU can be saved.*Save the soft network", tmp_path / "model", model=hard)


@pytest.mark.parametrize(("field", "tokens", "width"), [("tokens", 3, 1), ("width", 2, 4)])
def test_a_certificate_of_another_size(models, refuses, tmp_path, field, tokens, width):
    target = replace(models[0].certificate.target, tokens=tokens, width=width)
    model = replace(models[0], certificate=replace(models[0].certificate, target=target))
    refuses(rf"the certificate: target\.{field} must be \d, as in the network's config; got \d", tmp_path, model=model)


@pytest.mark.parametrize(
    ("tokens", "name", "message"),
    [
        (1, "x", "config.json: tokens must be a whole number from 2 to"),
        (2, "x" * 201, r"config.json: stages\[0\].name must be a string of at most 200 characters; got 'xxx"),
        (2, 7, r"config.json: stages\[0\].name must be a string of at most 200 characters; got 7"),
    ],
)
def test_networks_that_could_not_be_loaded(refuses, models, certificate_for, tmp_path, tokens, name, message):
    stage = FeedForwardStage(name, np.zeros((1, 4, 1)), np.zeros((1, 4)), np.zeros((1, 1, 4)), np.zeros((1, 1)))
    network = Network(tokens, 1, BlockShape(), (stage,))
    refuses(
        message, tmp_path / "model", model=replace(models[0], network=network, certificate=certificate_for(network))
    )


@pytest.mark.parametrize("value", [object(), float("nan")])
def test_a_certificate_that_is_not_plain_data(models, refuses, tmp_path, value):
    certificate = replace(models[0].certificate, construction={"method": value})
    model = replace(models[0], certificate=certificate)
    refuses("certificate.json must consist of plain numbers", tmp_path / "model", model=model)


def test_a_certificate_that_is_not_complete(models, refuses, tmp_path):
    model = replace(models[0], certificate=replace(models[0].certificate, terms={"cells": 1}))
    refuses("the certificate must have all its terms, as floats; got TypeError", tmp_path / "model", model=model)


def test_a_list_of_tensors_that_could_not_be_read(models, refuses, tmp_path, monkeypatch):
    monkeypatch.setattr("anyformer.exports.tensors.MAX_HEADER_BYTES", 100)
    refuses("list of tensors must fit 100 bytes; 7 stages take .* Merge neighbouring", tmp_path / "model")


def test_a_certificate_that_is_too_large_to_be_read(models, refuses, tmp_path, monkeypatch):
    monkeypatch.setattr("anyformer.exports.folder.MAX_BYTES", 100)
    refuses("config.json must have at most 100 bytes; it would have", tmp_path / "model")


def test_a_model_is_replaced_on_request_only(models, refuses, saved):
    refuses("must be a new or empty folder; it holds a model. Pass overwrite", saved, overwrite=False)
    save_folder(saved, models[0].network, models[0].certificate, overwrite=True)
    assert digest(load_folder(saved)[0]) == digest(models[0].network)
    assert [path.name for path in saved.parent.iterdir()] == ["model"]


@pytest.mark.parametrize("overwrite", [False, True])
def test_an_empty_folder_is_taken(models, tmp_path, overwrite):
    (tmp_path / "model").mkdir()
    save_folder(tmp_path / "model", models[0].network, models[0].certificate, overwrite)
    assert digest(load_folder(tmp_path / "model")[0]) == digest(models[0].network)


def test_a_damaged_model_of_ours_may_be_replaced(models, saved):
    (saved / "model.safetensors").write_bytes(b"")
    (saved / "certificate.json").unlink()
    save_folder(saved, models[0].network, models[0].certificate, overwrite=True)
    assert digest(load_folder(saved)[0]) == digest(models[0].network)


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_file_or_a_link_in_place_of_the_folder(refuses, saved, overwrite):
    (saved.parent / "file").write_text("precious")
    (saved.parent / "link").symlink_to(saved)
    (saved.parent / "dangling").symlink_to(saved.parent / "nothing")
    refuses("file must be a folder or not exist; it is a file", saved.parent / "file", overwrite)
    refuses("link must be a folder or not exist; it is a symbolic link", saved.parent / "link", overwrite)
    refuses("dangling must be a folder or not exist; it is a symbolic link", saved.parent / "dangling", overwrite)


@pytest.mark.parametrize("overwrite", [False, True])
def test_files_that_are_not_ours(refuses, saved, overwrite):
    (saved / "thesis.tex").write_text("precious")
    (saved / "notes").mkdir()
    refuses("it also holds 'notes', 'thesis.tex'. Nothing was changed", saved, overwrite)


def test_many_files_that_are_not_ours(refuses, saved):
    for k in range(12):
        (saved / f"{k:02}").touch()
    refuses("'00', '01', .*'09' and 2 more. Nothing was changed", saved)


def test_our_names_but_no_file_of_ours(refuses, saved):
    (saved / "certificate.json").unlink()
    (saved / "certificate.json").mkdir()
    refuses("it also holds 'certificate.json'", saved)
    (saved / "certificate.json").rmdir()
    (saved / "certificate.json").symlink_to("elsewhere")
    refuses("it also holds 'certificate.json'", saved)


@pytest.mark.parametrize("config", ['{"model_type": "bert"}', "[1]", "{", "[" * 5000, "\udcff", None])
def test_somebody_elses_model_with_the_same_file_names(refuses, saved, config):
    (saved / "config.json").unlink()
    if config is not None:
        (saved / "config.json").write_bytes(config.encode(errors="surrogateescape"))
    refuses("model must be a new or empty folder.*its config.json is missing or not ours. Nothing was changed", saved)


def test_a_name_that_marks_what_is_not_finished(refuses, tmp_path):
    refuses("must not have '.partial-' in its name", tmp_path / ".model.partial-1")
    refuses("must not have '.partial-' in its name", tmp_path / "a.partial-b")


@pytest.mark.parametrize("name", ["x" * 255, "nul\0"])
def test_names_the_disk_does_not_take(refuses, tmp_path, name):
    refuses("could not save a model to .*(name too long|null byte).*Fix the cause", tmp_path / name)


def test_a_parent_that_is_a_file(refuses, tmp_path):
    (tmp_path / "file").write_text("precious")
    refuses("could not save a model to", tmp_path / "file" / "model")


# Leftovers.


def test_leftovers_of_the_same_model_are_removed(models, saved, tmp_path):
    shutil.copytree(saved, tmp_path / ".model.partial-whole")
    (tmp_path / ".model.partial-empty").mkdir()
    (tmp_path / ".model.partial-half").mkdir()
    (tmp_path / ".model.partial-half" / "model.safetensors").write_bytes(b"half")
    save_folder(saved, models[0].network, models[0].certificate, overwrite=True)
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_leftovers_that_are_somebody_elses_are_left_alone(models, saved, tmp_path):
    (tmp_path / ".model.partial-file").write_text("precious")
    (tmp_path / ".model.partial-link").symlink_to(saved)
    os.mkfifo(tmp_path / ".model.partial-pipe")
    for name in (".model.partial-more", ".other.partial-1", ".model2.partial-1", "model.partial-1"):
        shutil.copytree(saved, tmp_path / name)
    (tmp_path / ".model.partial-more" / "thesis.tex").write_text("precious")
    before = {path.name for path in tmp_path.iterdir()}
    save_folder(saved, models[0].network, models[0].certificate, overwrite=True)
    assert {path.name for path in tmp_path.iterdir()} == before
    assert len(list((tmp_path / ".model.partial-more").iterdir())) == 4
    assert len(list((tmp_path / ".other.partial-1").iterdir())) == 3
    assert digest(load_folder(saved)[0]) == digest(models[0].network)


def test_what_another_process_is_writing_is_left_alone(models, saved, tmp_path):
    live = tmp_path / ".model.partial-live"
    live.mkdir()
    with atomic.held(live, wait=False):
        save_folder(saved, models[0].network, models[0].certificate, overwrite=True)
        assert live.exists()
    save_folder(saved, models[0].network, models[0].certificate, overwrite=True)
    assert not live.exists()


def test_a_whole_leftover_stays_until_the_new_model_is_there(models, originals, tmp_path, monkeypatch):
    shutil.copytree(originals[1], tmp_path / ".model.partial-whole")
    (tmp_path / ".model.partial-empty").mkdir()
    monkeypatch.setattr(placing, "_write", failing(errno.ENOSPC))
    with pytest.raises(ModelFileError, match="No space left"):
        save_folder(tmp_path / "model", models[0].network, models[0].certificate)
    assert [path.name for path in tmp_path.iterdir()] == [".model.partial-whole"]


# Errors on the way.


def failing(code, after=0):
    """A function that does nothing so many times and then fails like the operating system."""
    calls = iter(range(after))

    def function(*_):
        if next(calls, None) is None:
            raise OSError(code, os.strerror(code))

    return function


@pytest.mark.parametrize("after", range(4))
def test_a_full_disk_leaves_no_trace(refuses, saved, monkeypatch, after):
    monkeypatch.setattr(placing.os, "fsync", failing(errno.ENOSPC, after))
    refuses("could not save a model to .*model: .*No space left on device. Fix the cause and save again", saved)
    refuses("No space left on device", saved.parent / "another")


def test_a_write_cut_short_leaves_no_trace(refuses, saved):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, before[1]))
    try:
        refuses("could not save a model to .*File too large", saved)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_the_cause_is_kept(models, tmp_path, monkeypatch):
    monkeypatch.setattr(placing.os, "fsync", failing(errno.EIO))
    with pytest.raises(ModelFileError) as caught:
        save_folder(tmp_path / "model", models[0].network, models[0].certificate)
    assert isinstance(caught.value.__cause__, OSError)
    assert caught.value.__cause__.errno == errno.EIO


def test_no_permission(refuses, tmp_path):
    (tmp_path / "home").mkdir(mode=stat.S_IRUSR | stat.S_IXUSR)
    if os.access(tmp_path / "home", os.W_OK):
        pytest.skip("the administrator may write anywhere")
    refuses("could not save a model to .*Permission denied", tmp_path / "home" / "model")


def test_an_interrupt_leaves_no_trace(models, saved, monkeypatch):
    before = everything(saved.parent)

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(placing, "_move_in", interrupted)
    with pytest.raises(KeyboardInterrupt):
        save_folder(saved, models[0].network, models[0].certificate, overwrite=True)
    assert everything(saved.parent) == before


def test_a_disk_that_cannot_sync_directories_will_do(models, tmp_path, monkeypatch):
    sync = os.fsync

    def only_files(descriptor):
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        sync(descriptor)

    monkeypatch.setattr(atomic.os, "fsync", only_files)
    save_folder(tmp_path / "model", models[0].network, models[0].certificate)
    assert digest(load_folder(tmp_path / "model")[0]) == digest(models[0].network)


def test_files_are_synced_before_the_folder_gets_its_name(models, tmp_path, monkeypatch):
    log = []
    sync, rename = os.fsync, os.rename

    def logged_sync(descriptor):
        log.append(os.readlink(f"/proc/self/fd/{descriptor}"))
        sync(descriptor)

    def logged_rename(old, new):
        log.append(f"rename to {new}")
        rename(old, new)

    monkeypatch.setattr(placing.os, "fsync", logged_sync)
    monkeypatch.setattr(placing.os, "rename", logged_rename)
    save_folder(tmp_path / "model", models[0].network, models[0].certificate)
    partial = rf"{tmp_path}/\.model\.partial-\w+"
    wanted = [
        rf"{partial}/model\.safetensors",
        rf"{partial}/certificate\.json",
        rf"{partial}/config\.json",
        partial,
        f"rename to {tmp_path}/model",
        f"{tmp_path}",
    ]
    assert len(log) == len(wanted)
    for got, pattern in zip(log, wanted, strict=True):
        assert re.fullmatch(pattern, got)


# Where two folders cannot change names in one step.


@pytest.fixture
def in_steps(monkeypatch):
    monkeypatch.setattr(placing, "exchange", lambda *_: False)


@pytest.mark.usefixtures("in_steps")
def test_replacing_in_steps(models, saved):
    save_folder(saved, models[0].network, models[0].certificate, overwrite=True)
    assert digest(load_folder(saved)[0]) == digest(models[0].network)
    assert [path.name for path in saved.parent.iterdir()] == ["model"]


@pytest.mark.usefixtures("in_steps")
def test_the_old_model_is_put_back(refuses, saved, monkeypatch):
    rename = os.rename

    def no_second_rename(old, new):
        if ".partial-" in str(old) and new == saved and (old / "model.safetensors").stat().st_size != size:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        rename(old, new)

    size = (saved / "model.safetensors").stat().st_size
    monkeypatch.setattr(placing.os, "rename", no_second_rename)
    refuses("Input/output error", saved)


def test_exchange_says_when_it_cannot(tmp_path, monkeypatch):
    (tmp_path / "one").mkdir()
    assert atomic.exchange(tmp_path / "one", tmp_path / "two") is False
    assert (tmp_path / "one").exists()
    monkeypatch.setattr(atomic.ctypes, "CDLL", lambda _: object())
    assert atomic.exchange(tmp_path / "one", tmp_path) is False
