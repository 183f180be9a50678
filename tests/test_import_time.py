"""A fast start: the modules that `import irexec` and `irexec validate` import, and those that they do not.

benchmarks/startup.py measures the time; this test does not.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.waiting import PATIENCE

MODEL = """<net name="m" version="11"><layers>
    <layer id="0" name="x" type="Parameter" version="opset1">
        <data shape="2,3" element_type="f32"/>
        <output><port id="0" precision="FP32"><dim>2</dim><dim>3</dim></port></output>
    </layer>
    <layer id="1" name="a" type="ReLU" version="opset1">
        <input><port id="0" precision="FP32"><dim>2</dim><dim>3</dim></port></input>
        <output><port id="1" precision="FP32"><dim>2</dim><dim>3</dim></port></output>
    </layer>
    <layer id="2" name="y" type="Result" version="opset1">
        <input><port id="0" precision="FP32"><dim>2</dim><dim>3</dim></port></input>
    </layer>
</layers><edges>
    <edge from-layer="0" from-port="0" to-layer="1" to-port="0"/>
    <edge from-layer="1" from-port="1" to-layer="2" to-port="0"/>
</edges></net>
"""

CLASSIFIER = Path(__file__).parents[1] / "samples" / "classifier" / "model.xml"
# Modules that are only needed for running, explaining, drawing or comparing.
HEAVY = [
    "irexec.runtime.engine",
    "irexec.frontends.onnx",
    "irexec.frontends.pages",
    "irexec.tools.run",
    "irexec.frontends.pages",
    "irexec.tools.render",
    "irexec.api.opsets",
    "irexec.ops.movement",
    "irexec.ops.convolution",
    "rich",
    "json",
    "difflib",
    "concurrent.futures",
    "llvmlite",
    "importlib.metadata",
    "lxml",
    "openvino",
    "onnx",
    "onnxruntime",
]


def imported(code: str) -> set[str]:
    """Return the modules that a new process has imported after executing the code."""
    code = f"import sys\n{code}\nimport json as j; print(); print(j.dumps(sorted(before)))"
    code = code.replace("\nimport json as j", "\nbefore = set(sys.modules)\nimport json as j")
    given = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    command = [sys.executable, "-c", code]
    run = subprocess.run(command, capture_output=True, text=True, check=True, timeout=PATIENCE, env=given)
    return set(json.loads(run.stdout.splitlines()[-1]))


def of(modules: set[str], names: list[str]) -> list[str]:
    """Return the names that are among the modules, or have a submodule among them."""
    return [name for name in names if any(m == name or m.startswith(name + ".") for m in modules)]


@pytest.fixture(scope="module")
def validating(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    path = Path(tmp_path_factory.mktemp("startup"), "small.xml")
    path.write_text(MODEL)
    return imported(f"from irexec.cli.main import main\nassert main(['validate', {str(path)!r}]) == 0")


def test_importing_irexec_imports_nothing_else() -> None:
    assert of(imported("import irexec"), ["numpy", "pydantic", "pydantic_core", "ml_dtypes", *HEAVY]) == []


def test_validation_does_not_start_what_it_does_not_need(validating: set[str]) -> None:
    assert {"irexec.frontends.reading", "irexec.ops.activation.pointwise"} <= validating
    assert of(validating, HEAVY) == []


@pytest.mark.by_hand(2)
@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("<dim>3</dim></port></input>", "<dim>4</dim></port></input>"),
        ('type="ReLU"', 'type="Relu6"'),
        ('to-layer="2"', 'to-layer="7"'),
    ],
)
def test_a_finding_is_reported_without_importing_modules_for_networks(tmp_path: Path, right: str, wrong: str) -> None:
    path = tmp_path / "wrong.xml"
    path.write_text(MODEL.replace(right, wrong, 1))
    modules = imported(f"from irexec.cli.main import main\nassert main(['validate', {str(path)!r}]) == 1")
    assert "irexec.tools.fixes.written" in modules
    assert of(modules, ["xml.sax", "urllib.request", "http", "email"]) == []


def test_validation_imports_the_modules_of_the_operators_that_are_there(validating: set[str]) -> None:
    categories = {m.split(".")[2] for m in validating if m.startswith("irexec.ops.") and m.count(".") == 3} - {
        "spec",
        "rules",
        "compute",
    }
    assert {"activation", "infrastructure"} <= categories
    assert categories <= {"activation", "arithmetic", "infrastructure"}


@pytest.mark.parametrize("has_constants", [False, True])
def test_the_command_checks_a_small_file_without_numpy(tmp_path: Path, has_constants: bool) -> None:
    path = tmp_path / "small.xml"
    path.write_text(MODEL)
    path = CLASSIFIER if has_constants else path
    code = f"import sys\nsys.argv[1:] = ['validate', {str(path)!r}]"
    modules = imported(f"{code}\nfrom irexec.cli.start import start\nassert start() == 0")
    unneeded = ["numpy._core", "ml_dtypes", "irexec.tools.fixes.applying", "irexec.cli.fix", "pathlib", "pydantic"]
    assert of(modules, unneeded) == []


def test_numpy_is_complete_when_it_is_requested() -> None:
    code = "import os\nfrom irexec.cli.later import wait_with\nwait_with('numpy')\nimport numpy\nimport sys"
    assert "numpy._core" not in imported(f"{code}\nimport numpy")
    asked = "from numpy.lib.stride_tricks import sliding_window_view\nassert numpy.arange(3).sum() == 3"
    modules = imported(f"{code}\n{asked}\nassert 'OPENBLAS_NUM_THREADS' not in os.environ\nimport numpy.typing")
    assert {"numpy._core", "numpy.typing"} <= modules
    with_threads = "os.environ['OPENBLAS_NUM_THREADS'] = '2'"
    imported(f"{code}\n{with_threads}\nnumpy.array\nassert os.environ['OPENBLAS_NUM_THREADS'] == '2'")
    missing = "try:\n    numpy.nonsense\nexcept AttributeError:\n    numpy.array\nelse:\n    raise AssertionError"
    assert "numpy._core" in imported(f"{code}\n{missing}")


def test_running_does_not_start_the_compiler(tmp_path: Path) -> None:
    """llvmlite is not imported until a model with convolutions and products has run often."""
    path = tmp_path / "small.xml"
    path.write_text(MODEL)
    code = f"import irexec, numpy as np\nmodel = irexec.compile_model({str(path)!r})"
    code += "\nfor _ in range(5): model([np.ones((2, 3), np.float32)])"
    code += "\nimport irexec.ops.convolution.convolution, irexec.ops.matrix.matmul"
    modules = imported(code)
    assert "irexec.runtime.lowering.backend" in modules
    assert (
        of(
            modules,
            [
                "llvmlite",
                "irexec.runtime.lowering.llvm",
                "irexec.runtime.lowering.plans",
                "irexec.runtime.lowering.table",
            ],
        )
        == []
    )


# Modules for the parts of OpenVINO's API beyond compiling and inferring, and for models with errors, unusual forms or
# bodies.
ASKED_FOR_LATER = [
    "dataclasses",
    "irexec.core.diagnostics.codes",
    "irexec.runtime.engine.bodies",
    "irexec.model.graph.bodies",
    "irexec.model.graph.evaluate",
    "irexec.model.graph.pre_process",
    "irexec.model.graph.write",
    "irexec.model.inference.bodies",
    "irexec.ir.checks.bodies",
    "irexec.ir.xml.foreign",
    "irexec.ir.xml.parser",
    "irexec.api.openvino.custom",
    "irexec.api.openvino.variable_state",
    "irexec.ops.spec.other_names",
    "irexec.api.opsets.nodes",
    "lxml",
    "irexec.api.openvino.op",
    "irexec.api.openvino.properties",
    "irexec.api.openvino.profiling",
    "irexec.api.opsets.calls",
    "concurrent.futures",
    "hashlib",
    "logging",
    "subprocess",
    "tempfile",
]


def test_a_first_result_needs_little_of_the_python_api(tmp_path: Path) -> None:
    path = tmp_path / "small.xml"
    path.write_text(MODEL)
    code = f"import irexec, numpy as np\nrequest = irexec.compile_model({str(path)!r}).create_infer_request()"
    modules = imported(f"{code}\nrequest.reset_state()\nrequest.infer([np.ones((2, 3), np.float32)])")
    assert "irexec.api.openvino.compiled" in modules
    assert of(modules, ASKED_FOR_LATER) == []
    own = {module for module in modules if module.startswith("irexec.")}
    assert len(own) <= 161, sorted(own)


def test_a_public_name_is_the_same_whatever_was_imported_before() -> None:
    imported(
        "import irexec.model.inference, irexec.runtime.engine, irexec.frontends.pages\nassert callable(irexec.validate)"
    )
    imported("import irexec\nirexec.read_model\nirexec.compile_model\nassert callable(irexec.validate)")


SEEN = """import os, sys

class Finder:
    def find_spec(self, name, path, target=None):
        if name == "numpy":
            print(os.environ.get("OPENBLAS_THREAD_TIMEOUT"))

sys.meta_path.insert(0, Finder())
"""


@pytest.mark.parametrize("given", [None, "26"])
def test_threads_of_blas_soon_sleep_where_irexec_imports_numpy(given: str | None) -> None:
    """The variable that sets the time is removed afterwards."""
    code = f"{SEEN}import irexec\nirexec.read_model\nprint(os.environ.get('OPENBLAS_THREAD_TIMEOUT'))"
    environment = {k: v for k, v in os.environ.items() if k != "OPENBLAS_THREAD_TIMEOUT"}
    if given is not None:
        environment["OPENBLAS_THREAD_TIMEOUT"] = given
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment, timeout=PATIENCE
    )
    assert run.stdout.split() == (["22", "None"] if given is None else [given, given])


def test_the_compiled_validator_is_imported_without_the_types_of_its_schemas(validating: set[str]) -> None:
    assert of(validating, ["pydantic_core"]) == ["pydantic_core"]
    assert of(validating, ["pydantic_core.core_schema", "typing_extensions", "pydantic"]) == []


@pytest.mark.parametrize("first", ["irexec.ops.spec.validator", "pydantic"])
def test_pydantic_has_the_same_compiled_validator(first: str) -> None:
    modules = imported(
        f"import {first}, irexec.ops.spec.validator, pydantic, pydantic_core\n"
        "from pydantic_core import _pydantic_core\n"
        "assert irexec.ops.spec.validator.ValidationError is pydantic.ValidationError\n"
        "assert irexec.ops.spec.validator.SchemaValidator is _pydantic_core.SchemaValidator\n"
        "class Model(pydantic.BaseModel):\n    x: int\n"
        "assert Model(x='3').x == 3"
    )
    assert "pydantic_core.core_schema" in modules


def test_the_package_is_imported_where_its_compiled_module_cannot_be_alone() -> None:
    code = (
        "from importlib.machinery import ExtensionFileLoader as Loader\n"
        "load = Loader.exec_module\n"
        "def fails(self, module):\n"
        "    Loader.exec_module = load\n"
        "    raise ImportError('the package is needed')\n"
        "Loader.exec_module = fails\n"
        "import irexec.ops.spec.validator as validator\n"
        "assert Loader.exec_module is load\n"
        "import pydantic_core\n"
        "assert validator.SchemaValidator is pydantic_core.SchemaValidator"
    )
    assert "pydantic_core.core_schema" in imported(code)
