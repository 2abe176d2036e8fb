"""`--workers` and `--dask`: the same outcome with any, and clear words where there are none."""

import pytest

from anyformer import workers


@pytest.mark.parametrize("verb", ["verify", "build", "plan", "compare"])
def test_the_outcome_does_not_depend_on_the_workers(call, folders, verb, monkeypatch):
    monkeypatch.setattr(workers, "STARTING", -1.0)  # start processes even for little work
    asked = [folders["mean-scale"]] if verb == "verify" else ["mean-scale", "--epsilon", 0.3, "--tokens", 2]
    outcomes = [call(verb, *asked, "--workers", count, "--json") for count in (1, 2)]
    assert [outcome.code for outcome in outcomes] == [0, 0]
    first, second = (_without_times(outcome.data) for outcome in outcomes)
    assert first == second


def _without_times(data):
    if isinstance(data, dict):
        return {name: _without_times(value) for name, value in data.items() if "seconds" not in name}
    return [_without_times(value) for value in data] if isinstance(data, list) else data


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--workers", 0), "--workers must be at least 1; got 0"),
        (("--workers", 2, "--dask", "tcp://127.0.0.1:8786"), "must not come together"),
        (("--dask", "nonsense://here"), "must be a Dask scheduler at the address given"),
    ],
)
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_workers_that_cannot_be_are_refused(call, folders, options, message):
    outcome = call("verify", folders["mean-scale"], *options)
    assert outcome.code == 2
    assert message in outcome.err
