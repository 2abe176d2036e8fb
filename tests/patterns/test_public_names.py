import subprocess
import sys

from anyformer import patterns


def test_every_public_name_exists_and_is_documented():
    for name in patterns.__all__:
        assert name in ("CATALOGUE", "COMBINATORS") or getattr(patterns, name).__doc__, name


def test_importing_stays_light():
    script = "import sys, anyformer.patterns; print('\\n'.join(sys.modules))"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = {name.split(".")[0] for name in result.stdout.split()}
    assert not loaded & {"torch", "scipy", "ortools", "networkx", "matplotlib", "pandas"}
