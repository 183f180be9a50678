"""Binary search over releases: the change, skipped releases, intermittent failures, and environments."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import pytest

from irexec.cli.main import main
from irexec.tools.bisect.bisect import ByCommand, Check, bisect
from irexec.tools.bisect.environments import Environments, NoRelease, version_key

RELEASES = [f"{year}.{minor}.0" for year in range(2020, 2027) for minor in range(6)]
HERE = dict.fromkeys(RELEASES, sys.executable)


def environments(*missing: str) -> Environments:
    return Environments("openvino", None, {r: p for r, p in HERE.items() if r not in missing})


def since(first: str, fixed: str = "9999") -> Check:
    return lambda release, _: version_key(first) <= version_key(release) < version_key(fixed)


@pytest.mark.parametrize("first", RELEASES[1::7])
def test_the_first_release_with_a_failure(first: str) -> None:
    found = bisect(since(first), RELEASES, environments())
    assert (found.release, found.before) == (first, RELEASES[RELEASES.index(first) - 1])
    assert len(found.failures) <= math.ceil(math.log2(len(RELEASES))) + 2
    assert found.text().startswith(
        f"{first} is the first release with the failure: from not there in {found.before} to"
    )


def test_the_first_release_without_a_failure() -> None:
    found = bisect(since("2000", "2024.2"), RELEASES, environments())
    assert (found.release, found.before, found.exit_code) == ("2024.2.0", "2024.1.0", 0)
    assert "the first release without the failure: from there in 2024.1.0 to not there" in found.text()


def test_without_a_change() -> None:
    found = bisect(since("2000"), RELEASES, environments())
    assert (found.release, found.exit_code) == (None, 1)
    assert found.verdict.startswith("no change: the failure is there in 2020.0.0, ")
    assert found.verdict.endswith(" and 2026.5.0")
    assert len(found.failures) <= math.log2(len(RELEASES)) + 2


@pytest.mark.parametrize("is_there", [True, False])
def test_a_failure_of_some_releases_in_the_middle(is_there: bool) -> None:
    middle = since("2022.3", "2024.4")
    found = bisect(lambda release, python: middle(release, python) == is_there, RELEASES, environments())
    what = "without" if is_there else "with"
    assert found.verdict.startswith(f"2024.4.0 is the first release {what} the failure: from ")
    assert "; not monotone: there in " in found.verdict
    assert len(found.failures) <= math.log2(len(RELEASES)) + 2


def test_releases_that_cannot_be_had_are_skipped() -> None:
    missing = ("2020.0.0", "2026.5.0", "2023.2.0", "2023.3.0")
    found = bisect(since("2023.3"), RELEASES, environments(*missing))
    assert (found.release, found.before) == ("2023.4.0", "2023.1.0")
    assert set(found.skipped) <= set(missing)
    assert bisect(since("2000"), ["1.0"], environments()).exit_code == 2


@pytest.mark.parametrize(
    ("first", "answer"),
    [("2025.3", ("2025.3.0", "2025.2.0")), ("2022.1", (None, None)), ("2024.2", ("2024.2.0", "2024.1.0"))],
)
def test_many_old_releases_that_cannot_be_checked_take_few_checks(first: str, answer: tuple[str | None, ...]) -> None:
    tried: list[str] = []

    def check(release: str, _: str) -> bool:
        tried.append(release)
        if version_key(release) < version_key("2024.1"):
            raise NoRelease("it refuses the model")
        return version_key(release) >= version_key(first)

    found = bisect(check, RELEASES, environments())
    assert (found.release, found.before) == answer
    assert len({*tried}) <= math.ceil(math.log2(len(RELEASES))) + 2
    assert "2020.0.0        skipped: it refuses the model" in found.text()


def test_releases_between_that_cannot_be_asked_are_named() -> None:
    found = bisect(since("2023.3"), RELEASES, environments("2023.2.0"))
    text = "from not there in 2023.1.0 to there; 2023.2.0 between them could not be asked"
    assert found.release == "2023.3.0" and text in found.verdict


def test_an_interrupted_search_continues() -> None:
    kept: dict[str, bool] = {}
    whole = bisect(since("2023.1"), RELEASES, environments(), keep=kept.update)
    assert kept == whole.failures

    def never(release: str, _: str) -> bool:
        assert release in (whole.release, whole.before), "only the second check is repeated"
        return kept[release]

    assert bisect(never, RELEASES, environments(), known=kept).release == "2023.1.0"


def test_a_failure_that_comes_and_goes_is_named() -> None:
    seen: list[str] = []

    def check(release: str, _: str) -> bool:
        seen.append(release)
        return version_key(release) >= version_key("2022.1") and seen.count(release) < 2

    assert bisect(check, RELEASES, environments()).intermittent == ["2022.1.0"]


def test_a_command_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "check.py"
    script.write_text("import sys\nsys.exit(sys.argv[1] >= '2024.3')\n")
    given = [word for r in ("2024.1", "2024.2", "2024.3", "2024.4") for word in ("--python", f"{sys.executable}={r}")]
    command = ["bisect", "--check", f"{{python}} {script} {{release}}", "--releases", "2024.1,2024.2,2024.3,2024.4"]
    assert main([*command, *given]) == 0
    assert capsys.readouterr().out.startswith(
        "2024.3 is the first release with the failure: from not there in 2024.2 to"
    )
    assert main([*command[:-1], "2024.1,2024.2", *given[:4], "--format", "json"]) == 1
    assert '"release": null' in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--check", "true", "--releases", "1,2"], "must contain {python}"),
        (["--check", "'{python}", "--releases", "1,2"], "No closing quotation"),
        (["--check", "{python} {}", "--releases", "1,2"], "no model is given"),
        (["--check", "{python}", "--releases", "1,2", "--python", "x"], "write PATH=RELEASE"),
    ],
)
def test_what_is_refused(options: list[str], reason: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bisect", *options]) == 2
    assert reason in capsys.readouterr().err


def test_without_a_folder_no_environment_is_made(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bisect", "--check", "{python} -V", "--releases", "2024.1.0,2024.2.0"]) == 2
    assert "no folder for environments is given" in capsys.readouterr().out


def test_names_that_are_no_releases_make_no_folder(tmp_path: Path) -> None:
    with pytest.raises(NoRelease, match="is not a release"):
        Environments("openvino", tmp_path).python("../2024.1")
    assert [*tmp_path.iterdir()] == []


def test_a_command_that_does_not_end_shows_the_failure() -> None:
    check = ByCommand("{python} -c 'import time; time.sleep(600)'", limit=0.5)
    assert check("1.0", sys.executable)
