"""Who gets a name: classes that are registered, classes that packages announce, and nobody else."""

import sys
from dataclasses import dataclass, make_dataclass

import pytest
from torch import nn

from anyformer.cli.plugins import SHIPPED_MIXERS, mixer_names
from anyformer.mixers import (
    CATALOGUE,
    Average,
    Mixer,
    MixerBertConfig,
    MixerError,
    check_mixer,
    from_json,
    register_mixer,
    to_json,
)
from tests.mixers.brought import FNET, bring, install
from tests.test_house import loaded_after

pytestmark = pytest.mark.usefixtures("shipped")


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A folder in which packages are installed; what is imported from there is forgotten afterwards."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]


@dataclass(frozen=True)
class Own:
    """A mixer that mixes nothing."""

    size: int = 3

    def build(self, width, dropout=0.0):
        return nn.Linear(width, width)


@dataclass(frozen=True)
class Other(Own):
    """Another one."""


def test_the_package_s_own_mixers_came_by_the_same_door():
    assert tuple(CATALOGUE) == SHIPPED_MIXERS
    assert set(CATALOGUE.constructors.registered) == set(SHIPPED_MIXERS)


def test_a_registered_class_is_known_by_its_name():
    assert register_mixer("own-mixer", Own) is Own
    assert CATALOGUE.parse("own_mixer:size=4") == CATALOGUE.parse("own-mixer:4") == Own(4)
    assert to_json(Own(5)) == {"kind": "own-mixer", "size": 5}
    assert from_json({"kind": "own-mixer"}) == Own()
    assert isinstance(Own(), Mixer)
    assert Own().same_weights_as() == Own()
    assert "own-mixer" in list(CATALOGUE)


def test_the_same_class_again_changes_nothing():
    register_mixer("own", Own)
    register_mixer("own", Own)
    register_mixer("average", Average)
    assert tuple(CATALOGUE) == (*SHIPPED_MIXERS, "own")


def test_another_class_of_the_same_name_is_refused():
    register_mixer("own", Own)
    with pytest.raises(
        MixerError, match=r"'own' is tests\.mixers\.test_registry\.Own, and got .*\.Other\. Choose another"
    ):
        register_mixer("own", Other)
    with pytest.raises(MixerError, match=r"'attention' is anyformer\.mixers\.attention\.Attention, and got"):
        register_mixer("attention", Own)
    with pytest.raises(MixerError, match=r"must have one name; .*Own is 'own', and got 'mine'"):
        register_mixer("mine", Own)
    assert CATALOGUE["own"] is Own


def test_the_same_code_run_again_takes_the_place_of_the_old():
    old = bring()
    new = bring()
    assert old is not new
    assert type(CATALOGUE.make("fnet")) is new
    assert to_json(new()) == {"kind": "fnet"}
    with pytest.raises(MixerError, match=r"must be of a registered class; FNet\(\) is of brought_along\.FNet"):
        to_json(old())


@pytest.mark.parametrize("name", ["", "FNet", "f net", "f_net", "f:net", "-f", "f-", "2d", "f,net", "é", None, 3])
def test_bad_names(name):
    with pytest.raises(MixerError, match=r"must be lower-case letters and digits.*such as 'my-mixer'; got .*Choose"):
        register_mixer(name, Own)


def test_the_name_of_the_name_is_not_for_fields():
    kind = make_dataclass("Kind", [("kind", int, 3)], frozen=True, namespace={"build": Own.build})
    with pytest.raises(MixerError, match="field of a mixer must not be called 'kind'"):
        register_mixer("kind", kind)


class Plain:
    def build(self, width, dropout=0.0): ...


@dataclass
class Melted:
    def build(self, width, dropout=0.0): ...


@dataclass(frozen=True, eq=False)
class Incomparable:
    def build(self, width, dropout=0.0): ...


class Undecorated(Own):
    more: int = 3


@dataclass(frozen=True)
class Idle:
    size: int = 3


@dataclass(frozen=True)
class Abstract(Mixer):
    size: int = 3


@dataclass(frozen=True)
class WithoutDropout:
    def build(self, width): ...


@dataclass(frozen=True)
class OtherNames:
    def build(self, channels, dropout=0.0): ...


@pytest.mark.parametrize("kind", [Plain, Melted, Incomparable, Undecorated])
def test_what_is_no_frozen_dataclass_is_refused(kind):
    with pytest.raises(
        MixerError, match=rf"must be a frozen dataclass.*\.{kind.__name__} is not\. Write @dataclass\(frozen=True\)"
    ):
        register_mixer("own", kind)


@pytest.mark.parametrize("kind", [Idle, Abstract, WithoutDropout, OtherNames])
def test_what_builds_nothing_is_refused(kind):
    with pytest.raises(MixerError, match=rf"must have build\(self, width, dropout=0\.0\).*\.{kind.__name__} has"):
        register_mixer("own", kind)


@pytest.mark.parametrize("value", [Own(), "own", lambda: Own()])
def test_a_value_is_no_class(value):
    with pytest.raises(MixerError, match="must be a class; got"):
        register_mixer("own", value)


def test_a_class_without_a_name_is_told_how_to_get_one():
    @dataclass(frozen=True)
    class Nameless:
        def build(self, width, dropout=0.0): ...

    with pytest.raises(
        MixerError, match=r"a registered class; .*Nameless\(\) .*register_mixer\('its-name', Nameless\)"
    ):
        to_json(Nameless())
    with pytest.raises(MixerError, match=r"got .*Nameless\(\)\. A class of your own must be registered first"):
        MixerBertConfig(mixers=[Nameless()] * 12)
    with pytest.raises(MixerError, match=r"must be a Mixer, or of a class that register_mixer got; got .*Nameless\(\)"):
        check_mixer(Nameless())


def test_an_unknown_name_says_how_mixers_become_known():
    with pytest.raises(
        MixerError,
        match=r"must be one of attention, .*sparse-attention; got 'fnet'\. A mixer of your own must be registered"
        r" first: import the module that calls register_mixer, install the package .*anyformer\.mixers.*, or give --pl",
    ):
        from_json({"kind": "fnet"})


def test_an_installed_package_is_listed_unread_and_imported_when_asked(site):
    install(site, fnet_module=FNET.replace('@register_mixer("fnet")\n', ""))
    assert tuple(CATALOGUE) == (*SHIPPED_MIXERS, "fnet")
    assert mixer_names().endswith("sparse-attention, fnet")
    assert len(CATALOGUE) == len(SHIPPED_MIXERS) + 1
    assert "fnet_module" not in sys.modules
    made = CATALOGUE.parse("fnet")
    assert type(made) is sys.modules["fnet_module"].FNet
    assert to_json(made) == {"kind": "fnet"}


def test_a_package_may_announce_and_register(site):
    install(site, fnet_module=FNET)
    assert to_json(from_json({"kind": "fnet"})) == {"kind": "fnet"}


def test_a_class_of_a_package_is_known_without_its_name(site):
    install(
        site, fnet_module=FNET.replace('@register_mixer("fnet")\n', "").replace("class FNet:", "class FNet(Mixer):")
    )
    (site / "fnet_module.py").write_text("from anyformer.mixers import Mixer\n" + (site / "fnet_module.py").read_text())
    import fnet_module

    assert to_json(fnet_module.FNet()) == {"kind": "fnet"}


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("raise RuntimeError('broken.')", r"must be importable; importing it raised RuntimeError: broken\. Mend the"),
        ("import no_such_module_at_all", "raised ModuleNotFoundError"),
        ("raise SystemExit(3)", "raised SystemExit: 3"),
        ("def f(:", "raised SyntaxError"),
        ("FNets = 3", "raised AttributeError"),
        ("FNet = 3", r"cannot be registered: what is registered must be a class; got 3.*Mend the package"),
        ("class FNet: ...", "cannot be registered: a mixer must be a frozen dataclass"),
    ],
)
def test_a_broken_package_is_said_to_be_broken_when_it_is_asked_for(site, source, message):
    install(site, package="broken-package", fnet_module=source)
    assert CATALOGUE.make("average") == Average()
    with pytest.raises(MixerError, match="got 'wavelet'"):
        CATALOGUE.make("wavelet")
    with pytest.raises(MixerError, match=f"'fnet', which the package 'broken-package' announces as .*{message}"):
        from_json({"kind": "fnet"})


def test_a_broken_package_does_not_break_the_import(site):
    install(site, fnet_module="raise RuntimeError")
    assert "fnet_module" not in loaded_after(
        f"sys.path.insert(0, {str(site)!r}); import anyformer.mixers as m; list(m.CATALOGUE)"
    )


def test_metadata_that_cannot_be_read_hides_no_other_package(site):
    install(site, fnet_module=FNET)
    install(
        site,
        package="a-broken-one",
        points="\udcff".encode("utf-8", "surrogatepass").decode("latin-1") + "no equals sign",
    )
    (site / "a_broken_one-1.0.dist-info" / "entry_points.txt").write_bytes(b"[anyformer.mixers]\n\xff\xfe\n")
    assert to_json(CATALOGUE.make("fnet")) == {"kind": "fnet"}


def test_two_packages_with_one_name_are_both_named(site):
    install(site, fnet_module=FNET)
    install(site, package="other-package", points="fnet = other_module:FNet", other_module=FNET)
    with pytest.raises(MixerError, match=r"'fnet' is announced by the packages '.*', '.*'\. Uninstall all but one"):
        CATALOGUE.make("fnet")


def test_names_that_are_taken_stay_with_their_classes(site):
    """What is registered comes first: no package can take the place of attention."""
    install(site, points="average = fnet_module:FNet\nown = fnet_module:FNet", fnet_module="raise RuntimeError")
    register_mixer("own", Own)
    assert CATALOGUE.make("average") == Average()
    assert CATALOGUE.make("own") == Own()
    assert tuple(CATALOGUE) == (*SHIPPED_MIXERS, "own")


def test_names_with_underscores_are_found_and_other_bad_ones_refused(site):
    plain = FNET.replace('@register_mixer("fnet")\n', "")
    install(site, points="f_net = fnet_module:FNet\nF.Net = fnet_module:FNet", fnet_module=plain)
    assert to_json(CATALOGUE.make("f_net")) == {"kind": "f-net"}
    with pytest.raises(MixerError, match=r"cannot be registered: the name of a mixer must be lower-case"):
        CATALOGUE.make("F.Net")
