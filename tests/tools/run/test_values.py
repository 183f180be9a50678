"""The file named by an option of the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from irexec.tools.run.values import file_of_option


@pytest.mark.parametrize(
    ("option", "parts"),
    [
        ("x=a/b.npy", ("x=", "a/b.npy", "")),
        ("x=b.npz:key", ("x=", "b.npz", ":key")),
        ("x=@b.npy:key", ("x=@", "b.npy", ":key")),
        ("x=@b.npz:key", ("x=@", "b.npz", ":key")),
        ("x=@odd name", ("x=@", "odd name", "")),
        ("b.npz", ("", "b.npz", "")),
        ("@b", ("@", "b", "")),
        ("x=[1, 2]", None),
        ("x=3.5", None),
        ("x=true", None),
        ("[[1], [2]]", None),
    ],
)
def test_a_path_and_what_is_around_it(option: str, parts: tuple[str, str, str] | None) -> None:
    assert file_of_option(option) == parts


def test_a_file_whose_name_looks_like_a_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.npz:b").touch()
    assert file_of_option("x=a.npz:b") == ("x=", "a.npz:b", "")
