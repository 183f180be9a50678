"""Elements narrower than a byte: round trips, and the same bytes as OpenVINO writes."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from irexec.core.types import F4E2M1, I4, NF4, U1, U2, U3, U4, U6
from irexec.ir.weights.packing import pack, to_array, to_codes, unpack
from irexec.ir.weights.strings import read_strings, write_strings

PACKED = [U1, U2, U3, U4, U6, I4, NF4, F4E2M1]
# The bytes that OpenVINO 2026.4 writes for these codes; recorded, and compared with the installed version below.
RECORDED = {
    "u1": ([1, 0, 1, 1, 0, 0, 0, 1, 1], "b180"),
    "u2": ([1, 2, 3, 0, 2], "3902"),
    "u3": ([1, 2, 3, 4, 5, 6, 7, 0, 5], "6c6c1e400080"),
    "u4": ([1, 15, 7], "f107"),
    "u6": ([0b110101, 0b001011, 0b100110, 0b011001, 63], "5b69c9f000c0"),
    "i4": ([8, 15, 7, 3, 14], "f8370e"),
}


@given(st.sampled_from(PACKED), st.binary(max_size=70))
def test_packing_round_trips(element_type, data) -> None:
    codes = np.frombuffer(data, np.uint8) & np.uint8((1 << element_type.bitwidth) - 1)
    packed = pack(codes, element_type)
    assert packed.size == element_type.nbytes(codes.size)
    assert unpack(packed, element_type, codes.size).tolist() == codes.tolist()


@given(st.sampled_from(PACKED), st.binary(max_size=60))
def test_unpacking_round_trips(element_type, data) -> None:
    whole = len(data) // 3 * 3
    packed = np.frombuffer(data[:whole], np.uint8)
    codes = unpack(packed, element_type, whole * 8 // element_type.bitwidth)
    assert pack(codes, element_type).tobytes() == data[:whole]


@pytest.mark.parametrize("element_type", [U1, U2, U3, U4, U6, I4], ids=str)
def test_recorded_bytes(element_type) -> None:
    codes, written = RECORDED[element_type.name]
    assert pack(np.array(codes, np.uint8), element_type).tobytes().hex() == written


@pytest.mark.parametrize("element_type", [U1, U2, U3, U4, U6, I4, F4E2M1], ids=str)
@pytest.mark.parametrize("count", [1, 7, 8, 9, 21])
def test_openvino_writes_the_same_bytes(element_type, count, tmp_path) -> None:
    ov = pytest.importorskip("openvino")
    codes = np.random.default_rng(count).integers(0, 1 << element_type.bitwidth, count, np.uint8)
    values = to_array(codes, element_type, (count,)).astype(np.float32 if element_type is F4E2M1 else np.int64)
    constant = ov.op.Constant(getattr(ov.Type, element_type.name), ov.Shape([count]), values.tolist())
    ov.serialize(ov.Model([constant], [], "m"), str(tmp_path / "m.xml"), str(tmp_path / "m.bin"))
    assert (tmp_path / "m.bin").read_bytes() == pack(codes, element_type).tobytes()
    assert f'size="{element_type.nbytes(count)}"' in (tmp_path / "m.xml").read_text()


def test_values_of_codes() -> None:
    codes = np.arange(16, dtype=np.uint8)
    assert to_array(codes, I4, (16,)).astype(int).tolist() == [*range(8), *range(-8, 0)]
    assert to_array(codes, U4, (4, 4)).astype(int).tolist() == np.arange(16).reshape(4, 4).tolist()
    assert to_array(codes, F4E2M1, (16,)).astype(float).tolist()[:8] == [0, 0.5, 1, 1.5, 2, 3, 4, 6]
    assert to_array(codes, NF4, (16,)).dtype == np.uint8
    assert to_codes(np.array([[-1, 7]], ml_dtypes.int4), I4).tolist() == [15, 7]


@given(st.lists(st.text(st.characters(codec="utf-8"))))
def test_strings_round_trip(strings) -> None:
    assert read_strings(write_strings(strings)) == strings


def test_strings_as_openvino_writes_them() -> None:
    assert write_strings(["ab", "", "xyz"]).hex() == "0300000000000000020000000200000005000000" + b"abxyz".hex()


@pytest.mark.parametrize(
    ("fields", "text", "message"),
    [
        ([], b"ab", "too few"),
        ([-1, 0], b"", "-1 strings"),
        ([2**31 - 1, 0], b"", "do not fit"),
        ([1, 1, 2], b"ab", "starts at 1"),
        ([2, 0, 2, 1], b"ab", "ends before"),
        ([1, 0, 3], b"ab", "beyond the 2 bytes"),
        ([1, 0, 1], b"\xff", "can't decode"),
    ],
)
def test_strings_that_cannot_be(fields, text, message) -> None:
    with pytest.raises(ValueError, match=message):
        read_strings(np.array(fields, "<i4").tobytes() + text)
