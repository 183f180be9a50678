"""Arrays from files: limited by their headers and by the size of the file."""

from __future__ import annotations

import io
import os
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest

from irexec.model.arrays import loading
from irexec.model.arrays.loading import BadArrayFile, load


def header(shape: str, descr: str = "'<f4'") -> bytes:
    text = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()


def test_arrays_come_back(tmp_path: Path) -> None:
    arrays = {
        "plain": np.arange(6, dtype=np.int8).reshape(2, 3),
        "fortran": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        "big": np.arange(4, dtype=">i2"),
        "empty": np.zeros((0, 5)),
        "scalar": np.float64(3),
    }
    np.savez(tmp_path / "a.npz", **arrays)
    np.savez_compressed(tmp_path / "b.npz", **arrays)
    for name in ("a.npz", "b.npz"):
        loaded = load(tmp_path / name)
        assert list(loaded) == list(arrays)
        assert all(np.array_equal(loaded[key], array) for key, array in arrays.items())
    for key, array in arrays.items():
        np.save(tmp_path / "a.npy", array)
        assert np.array_equal(load(tmp_path / "a.npy"), array), key


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (header("(9999999999,)") + b"1234", "header declares 39999999996 bytes"),
        (header("(3,)", "'|O'") + b"1234", "Python objects"),
        (header("(3,)", "'<M8[D]'") + b"1" * 24, "dates"),
        (header("(-3,)"), "shape"),
        (header("(1,) * 999"), "."),
        (header("(" + "1," * 70 + ")"), "shape"),
        (header("(99999999999999999999,)"), "shape"),
        (b"\x93NUMPY\x07\x00", "version"),
        (b"\x93NUMPY\x01\x00\xff\xff{}", "its header cannot be read"),
        (b"\x93NUMPY\x01\x00\x14\x00" + b"(" * 19 + b"\n", "its header cannot be read"),
        (b"PK\x03\x04", "the archive is damaged"),
        (b"", "neither"),
    ],
)
def test_what_a_header_claims_is_not_believed(data: bytes, reason: str, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(data)
    with pytest.raises(BadArrayFile, match=reason):
        load(tmp_path / "a")


def test_an_archive_takes_no_memory_for_what_its_headers_claim(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("x.npy", header("(4000000000,)") + b"1234")
    with pytest.raises(BadArrayFile, match="'x' declares 16000000000 bytes"):
        load(tmp_path / "a.npz")


def test_a_bomb_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    most = 1 << 25
    monkeypatch.setattr(loading, "MAX_EXPANDED", most)
    block = io.BytesIO(header("(4,)") + bytes(1 << 20)).getvalue()
    with (
        zipfile.ZipFile(tmp_path / "a.npz", "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("x.npy", "w", force_zip64=True) as entry,
    ):
        for _ in range(most // len(block) + 1):
            entry.write(block)
    assert os.path.getsize(tmp_path / "a.npz") < most // 64
    tracemalloc.start()
    try:
        with pytest.raises(BadArrayFile, match="would expand"):
            load(tmp_path / "a.npz")
        assert tracemalloc.get_traced_memory()[1] < most // 16
    finally:
        tracemalloc.stop()
