"""Several savers and readers of one folder: somebody wins, nobody reads a mixture."""

from concurrent.futures import ThreadPoolExecutor
from itertools import cycle, islice

import pytest

from anyformer.errors import ModelFileError
from anyformer.exports import load_folder, placing, save_folder
from anyformer.networks.digest import digest


def save_often(folder, versions, times):
    """Save the versions in turn; count the saves that were refused because another one came first."""
    refused = 0
    for model in islice(cycle(versions), times):
        try:
            save_folder(folder, model.network, model.certificate, overwrite=True)
        except ModelFileError:
            refused += 1
    return refused


def load_often(folder, times):
    """Load again and again; what is loaded must belong together. Count the loads that were refused."""
    refused = 0
    for _ in range(times):
        try:
            network, certificate = load_folder(folder)
        except ModelFileError:
            refused += 1
        else:
            assert digest(network) == certificate.weights_digest
    return refused


@pytest.mark.parametrize("in_one_step", [True, False])
def test_savers_and_readers(models, tmp_path, monkeypatch, in_one_step):
    if not in_one_step:
        monkeypatch.setattr(placing, "exchange", lambda *_: False)
    folder = models[0].save(tmp_path / "model")
    with ThreadPoolExecutor() as pool:
        savers = [pool.submit(save_often, folder, order, 10) for order in (models[:2], models[1::-1])]
        readers = [pool.submit(load_often, folder, 100) for _ in range(2)]
    assert sum(saver.result() for saver in savers) < 20
    assert sum(reader.result() for reader in readers) < 200
    models[1].save(folder, overwrite=True)
    assert load_often(folder, 1) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_of_two_first_saves_one_is_refused(models, tmp_path, monkeypatch):
    write = placing._write

    def overtaken(directory, files):
        write(directory, files)
        monkeypatch.setattr(placing, "_write", write)
        models[1].save(tmp_path / "model")

    monkeypatch.setattr(placing, "_write", overtaken)
    with pytest.raises(ModelFileError, match="must be a new or empty folder; it holds a model"):
        models[0].save(tmp_path / "model")
    assert digest(load_folder(tmp_path / "model")[0]) == digest(models[1].network)
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
