"""The fixture `ir_golden`, in a separate pytest."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

SAMPLES = Path(__file__).parents[3] / "samples"
TEST = """
import numpy as np
import pytest

def test_model(ir_golden):
    image = np.linspace(-1, 1, 3 * 32 * 32, dtype=np.float32).reshape(1, 3, 32, 32)
    ir_golden("model.xml", {{"image": image}}, layers={layers}{more})
"""
LAYERS = ["stem/relu", "block1/pointwise/norm", "block2/pointwise/relu"]


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    use(pytester, "classifier")
    write(pytester)
    return pytester


def use(pytester: pytest.Pytester, sample: str) -> None:
    for suffix in (".xml", ".bin"):
        shutil.copy(SAMPLES / sample / f"model{suffix}", pytester.path / f"model{suffix}")


def write(pytester: pytest.Pytester, layers: list[str] = LAYERS, more: str = "") -> None:
    pytester.makepyfile(test_it=TEST.format(layers=layers, more=more))


def run(pytester: pytest.Pytester, *options: str) -> pytest.RunResult:
    plugin = () if _is_installed() else ("-p", "irexec.tools.functions.pytest_golden")
    return pytester.runpytest_inprocess(*plugin, "-p", "no:cacheprovider", *options)


def _is_installed() -> bool:
    from importlib.metadata import entry_points

    return any(entry.value == "irexec.tools.functions.pytest_golden" for entry in entry_points(group="pytest11"))


def test_a_file_is_written_on_request_and_compared_from_then_on(project: pytest.Pytester) -> None:
    result = run(project)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*does not exist: write it with pytest --ir-update*"])
    result.stdout.no_fnmatch_line("*golden.py*")
    run(project, "--ir-update").assert_outcomes(passed=1)
    assert [path.name for path in (project.path / "golden").rglob("*.npz")] == ["test_model.npz"]
    run(project).assert_outcomes(passed=1)


def test_a_failure_names_the_first_layer_that_differs(project: pytest.Pytester) -> None:
    run(project, "--ir-update")
    use(project, "converted")
    result = run(project)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["*model.xml: the layer 'block1/pointwise/norm' (BatchNormInference) is * % off, tolerance *"]
    )
    write(project, more=", atol=10")
    run(project).assert_outcomes(passed=1)
    write(project)
    run(project, "--ir-update").assert_outcomes(passed=1)
    run(project).assert_outcomes(passed=1)


def test_other_layers_need_an_update(project: pytest.Pytester) -> None:
    run(project, "--ir-update")
    write(project, LAYERS[:1])
    result = run(project)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*has other layers or results than the test*"])
    write(project, ["stem/rel"])
    result = run(project)
    result.stdout.fnmatch_lines(["*the model has no layer 'stem/rel': did you mean stem/relu*"])


def test_a_result_that_differs_is_named(project: pytest.Pytester) -> None:
    write(project, [])
    run(project, "--ir-update")
    use(project, "converted")
    result = run(project)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*model.xml: the result * (SoftMax) is * % off, tolerance *"])


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (('"image": image', '"image": image + 1'), "was written with another input image: update it with pytest"),
        (('"image": image', '"imag": image'), "inputs['imag']: no input has this name"),
    ],
)
def test_other_inputs_than_those_of_the_file_are_reported(
    project: pytest.Pytester, changed: tuple[str, str], message: str
) -> None:
    run(project, "--ir-update").assert_outcomes(passed=1)
    project.makepyfile(test_it=TEST.format(layers=LAYERS, more="").replace(*changed))
    result = run(project)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([f"*{message.replace('[', '[[]')}*"])


def test_each_test_has_its_own_file(project: pytest.Pytester) -> None:
    """Names that differ in a class, or only in characters that file names cannot have, are different names."""
    project.makepyfile(
        test_it="""
        import numpy as np
        import pytest

        def check(ir_golden, value, **options):
            ir_golden("model.xml", {"image": np.full((1, 3, 32, 32), value, np.float32)}, **options)

        class TestA:
            def test_x(self, ir_golden): check(ir_golden, 0)
        class TestB:
            class TestA:
                def test_x(self, ir_golden): check(ir_golden, 1)
        @pytest.mark.parametrize("k", ["a+b", "a*b", "a_b", "n" * 90, "n" * 91])
        def test_p(k, ir_golden): check(ir_golden, ["a+b", "a*b", "a_b", "n" * 90].index(k) if len(k) < 91 else 9)
        def test_names(ir_golden):
            for value, name in enumerate(["a/b", "a:b", "../b"]):
                check(ir_golden, value, name=name)
        """
    )
    run(project, "--ir-update").assert_outcomes(passed=8)
    assert len([*(project.path / "golden" / "test_it").glob("*.npz")]) == 10
    run(project).assert_outcomes(passed=8)


@pytest.mark.parametrize(("values", "failed"), [((0, 1), 1), ((1, 1), 0)], ids=["other", "equal"])
def test_a_file_is_not_written_twice_with_other_values(
    values: tuple[int, int], failed: int, project: pytest.Pytester
) -> None:
    project.makepyfile(
        test_it=f"""
        import numpy as np

        def test_twice(ir_golden):
            for value in {values}:
                ir_golden("model.xml", {{"image": np.full((1, 3, 32, 32), value, np.float32)}}, name="of all")
        """
    )
    result = run(project, "--ir-update")
    result.assert_outcomes(passed=1 - failed, failed=failed)
    result.stdout.fnmatch_lines(["*is written twice with different values*"] * failed)
