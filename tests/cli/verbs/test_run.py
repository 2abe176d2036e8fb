import io
import json
import os
import shutil
import sys

import numpy as np
import pytest

import anyformer as af

INPUTS = np.array([[[0.1], [0.9]], [[1 / 3], [0.25]], [[0.6], [0.1 + 0.2]]])


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def csv_of(array):
    return "".join(",".join(map(repr, row)) + "\n" for row in array.reshape(len(array), -1).tolist())


def read_csv(text):
    return np.array([[float(field) for field in line.split(",")] for line in text.splitlines()])


def test_npy_in_and_npy_out(place, call, folders):
    np.save("in.npy", INPUTS)
    outcome = call("run", folders["mean-scale"], "in.npy", "-o", "out.npy")
    assert outcome.code == 0
    assert outcome.err == ""
    assert "3 sequences written to out.npy" in outcome.out
    assert np.load("out.npy").tobytes() == af.load(folders["mean-scale"])(INPUTS).tobytes()
    assert sorted(path.name for path in place.iterdir()) == ["in.npy", "out.npy"]


@pytest.mark.parametrize("header", ["", "first,second\n", "\ufefffirst,second\n"])
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_csv_in_and_csv_out_to_the_bit(place, call, folders, header, ending):
    (place / "in.csv").write_bytes((header + csv_of(INPUTS)).replace("\n", ending).encode())
    expected = af.load(folders["mean-scale"])(INPUTS)
    plain = call("run", folders["mean-scale"], "in.csv")
    assert plain.code == 0
    assert plain.err == ""
    assert read_csv(plain.out).tobytes() == expected.tobytes()
    assert call("run", folders["mean-scale"], "in.csv", "-o", "out.csv").code == 0
    assert (place / "out.csv").read_text() == plain.out


def test_rows_are_token_by_token(place, call, folders):
    inputs = np.random.default_rng(2).random((5, 2, 2))
    (place / "in.csv").write_text(csv_of(inputs))
    outcome = call("run", folders["centre"], "in.csv")
    assert read_csv(outcome.out).reshape(5, 2, 2).tobytes() == af.load(folders["centre"])(inputs).tobytes()


def test_standard_input(place, call, folders, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO(csv_of(INPUTS)))
    outcome = call("run", folders["mean-scale"], "-")
    assert read_csv(outcome.out).tobytes() == af.load(folders["mean-scale"])(INPUTS).tobytes()
    monkeypatch.setattr(sys, "stdin", io.StringIO("0.1,x\n"))
    assert "line 1 of standard input" in call("run", folders["mean-scale"], "-").err


def test_json(place, call, folders):
    np.save("in.npy", INPUTS)
    data = call("run", folders["mean-scale"], "in.npy", "--json").data
    expected = af.load(folders["mean-scale"])(INPUTS)
    assert data == {"sequences": 3, "shape": [3, 2, 1], "outside_domain": 0, "outputs": expected.tolist()}
    written = call("run", folders["mean-scale"], "in.npy", "-o", "out.csv", "--json").data
    assert written == {"sequences": 3, "shape": [3, 2, 1], "outside_domain": 0, "output": "out.csv"}


def test_other_real_numbers_are_accepted(place, call, folders):
    for dtype in (np.float32, np.int64, bool):
        np.save("in.npy", np.array([[[1], [0]]], dtype=dtype))
        assert call("run", folders["mean-scale"], "in.npy").code == 0


def test_an_existing_output_is_replaced_and_survives_a_failure(place, call, folders, monkeypatch):
    np.save("in.npy", INPUTS)
    (place / "out.csv").write_text("old")
    monkeypatch.setattr("anyformer.atomic.os.replace", lambda *_: (_ for _ in ()).throw(OSError(28, "disk full")))
    outcome = call("run", folders["mean-scale"], "in.npy", "-o", "out.csv")
    assert outcome.code == 2
    assert outcome.err == "error: the file system refused: disk full\n"
    assert (place / "out.csv").read_text() == "old"
    assert sorted(path.name for path in place.iterdir()) == ["in.npy", "out.csv"]
    monkeypatch.undo()
    os.chdir(place)
    assert call("run", folders["mean-scale"], "in.npy", "-o", "out.csv").code == 0
    assert (place / "out.csv").read_text() != "old"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0.1,0.2\n0.3,x\n", "line 2 of 'in.csv' must have finite numbers; field 2 is 'x'"),
        ("a,b\n0.1,0.2\n\n0.3\n", "line 4 of 'in.csv' must have 2 numbers, token by token; got 1"),
        ("0.1,x\n", "line 1 of 'in.csv' must have finite numbers; field 2 is 'x'"),
        ("0.1,0.2,0.3\n", "line 1 of 'in.csv' must have 2 numbers, token by token; got 3"),
        ("0.1,nan\n", "field 2 is 'nan'"),
        ("0.1,-inf\n", "field 2 is '-inf'"),
        ("0.1,1e999\n", "field 2 is '1e999'"),
        ("0.1,1_0\n", "field 2 is '1_0'"),
        ("0.1,\n", "field 2 is ''"),
        ("0.1,[red]\x1b[31m\n", "field 2 is '[red]\\x1b[31m'"),
        ("a,b\na,b\n", "line 2 of 'in.csv'"),
        ("", "must hold at least one sequence: a line of 2 numbers"),
        ("first,second\n\n", "must hold at least one sequence"),
        ("0.1," + "9" * 200_000, "must be CSV in UTF-8"),
    ],
)
def test_rows_at_fault_are_named(place, refused, folders, text, message):
    (place / "in.csv").write_text(text)
    error = refused("run", folders["mean-scale"], "in.csv")
    assert message in error
    assert "\x1b" not in error


def test_bytes_that_are_no_text(place, refused, folders):
    (place / "in.csv").write_bytes(b"0.1,0.2\n\xff\xfe\n")
    assert "must be CSV in UTF-8" in refused("run", folders["mean-scale"], "in.csv")


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros((3, 2)), "must have shape (batch, tokens, width) = (batch, 2, 1); got (3, 2)"),
        (np.zeros((3, 1, 2)), "got (3, 1, 2)"),
        (np.zeros((0, 2, 1)), "must hold at least one sequence; its shape is (0, 2, 1)"),
        (np.zeros((1, 2, 1), dtype=complex), "must hold one array of real numbers; got complex128"),
        (np.array([[["a"], ["b"]]]), "must hold one array of real numbers; got <U1"),
    ],
)
def test_arrays_that_do_not_fit(place, refused, folders, array, message):
    np.save("in.npy", array)
    assert message in refused("run", folders["mean-scale"], "in.npy")


def test_arrays_that_cannot_be_read(place, refused, folders):
    np.save("objects.npy", np.array([None, 1], dtype=object), allow_pickle=True)
    assert "allow_pickle=False" in refused("run", folders["mean-scale"], "objects.npy")
    np.save("whole.npy", INPUTS)
    (place / "cut.npy").write_bytes((place / "whole.npy").read_bytes()[:-4])
    (place / "empty.npy").write_bytes(b"")
    (place / "text.npy").write_text("0.1,0.2\n")
    for name in ("cut.npy", "empty.npy", "text.npy"):
        assert f"'{name}' must be an array as numpy.save writes it" in refused("run", folders["mean-scale"], name)
    np.savez("archive.npz", INPUTS)
    (place / "archive.npz").rename("archive.npy")
    assert "got an archive" in refused("run", folders["mean-scale"], "archive.npy")


def test_numbers_that_are_none(place, refused, folders):
    np.save("in.npy", np.where(INPUTS == 0.25, np.nan, INPUTS))
    message = refused("run", folders["mean-scale"], "in.npy")
    assert "'in.npy' must be finite; batch element 1 is [[" in message


def test_files_that_are_not_there_or_of_another_kind(place, refused, folders):
    (place / "in.csv").write_text("0.1,0.2\n")
    model = folders["mean-scale"]
    assert "there is none at 'absent.csv'" in refused("run", model, "absent.csv")
    assert "the input must end in .npy or .csv; got 'in.txt'" in refused("run", model, "in.txt")
    assert "--output must end in .npy or .csv; got 'out.txt'" in refused("run", model, "in.csv", "-o", "out.txt")
    assert "--output must be in an existing folder" in refused("run", model, "in.csv", "-o", "absent/out.csv")
    assert sorted(path.name for path in place.iterdir()) == ["in.csv"]


def test_inputs_outside_the_domain_are_run_with_a_note(place, call, folders):
    (place / "in.csv").write_text("0.1,0.2\n-0.5,0.2\n0.1,1.5\n")
    outcome = call("run", folders["mean-scale"], "in.csv")
    assert outcome.code == 0
    assert outcome.out.count("\n") == 3
    assert outcome.err == "note: 2 of 3 sequences leave the domain, where the certificate promises nothing\n"
    assert call("run", folders["mean-scale"], "in.csv", "--json").data["outside_domain"] == 2
    # With compact support the certificate speaks of all inputs.
    assert call("run", folders["bump"], "in.csv").err == ""


def test_a_certificate_with_a_broken_domain_gives_no_half_answers(place, refused, folders):
    copy = shutil.copytree(folders["mean-scale"], place / "copy")
    certificate = json.loads((copy / "certificate.json").read_text())
    certificate["target"]["domain"]["low"] = [(0.0).hex()] * 3
    (copy / "certificate.json").write_text(json.dumps(certificate))
    (place / "in.csv").write_text("0.1,0.2\n")
    assert "got 3 floats for width 1" in refused("run", copy, "in.csv", kind="TargetError")


def test_inputs_that_overflow(place, refused, folders):
    (place / "in.csv").write_text("0.1,0.2\n1e300,-1e308\n")
    message = refused("run", folders["mean-scale"], "in.csv")
    assert "the outputs must be finite; sequence 1, [[1e+300], [-1e+308]], overflows" in message
