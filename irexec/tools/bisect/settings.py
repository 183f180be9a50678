"""`irexec bisect --settings`: the settings of a runtime that remove a failure, one at a time and together."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from irexec.tools.bisect.by_model import ByModel
from irexec.tools.bisect.environments import NoRelease
from irexec.tools.compare.delta import fewest
from irexec.tools.compare.runtimes.runtime import CannotRun
from irexec.tools.compare.runtimes.separate import Apart


@dataclass(frozen=True, slots=True)
class Setting:
    """A property of a runtime, variables of its process, or loading the model from a cache."""

    name: str
    config: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    cached: bool = False


def _property(text: str) -> Setting:
    name, _, value = text.partition("=")
    return Setting(text, {name: value})


def _variables(value: str, *names: str) -> Setting:
    return Setting(" ".join(f"{name}={value}" for name in names), environment=dict.fromkeys(names, value))


OPENVINO = (
    *map(
        _property,
        (
            "INFERENCE_PRECISION_HINT=f32",
            "EXECUTION_MODE_HINT=ACCURACY",
            "DYNAMIC_QUANTIZATION_GROUP_SIZE=0",
            "KV_CACHE_PRECISION=f32",
            "LP_TRANSFORMS_MODE=NO",
            "SNIPPETS_MODE=DISABLE",
            "CPU_DENORMALS_OPTIMIZATION=NO",
            "INFERENCE_NUM_THREADS=1",
            "NUM_STREAMS=1",
        ),
    ),
    Setting("CACHE_DIR", cached=True),
    _variables("AVX2", "OV_CPU_MAX_ISA", "ONEDNN_MAX_CPU_ISA"),
    _variables("SSE41", "OV_CPU_MAX_ISA", "ONEDNN_MAX_CPU_ISA"),
)
"""The settings of OpenVINO that may remove a failure, those that cost least first."""
ONNX_RUNTIME = (
    Setting("graph optimization level extended", {"level": "extended"}),
    Setting("graph optimization level basic", {"level": "basic"}),
    Setting("graph optimization level disable_all", {"level": "disable_all"}),
    Setting("execution mode parallel", {"execution": "parallel"}),
    Setting("intra_op_num_threads 1", {"threads": "1"}),
)
_MODIFIED = re.compile(r"GraphTransformer (\w+) modified: 1 ")
_OF_RULES = re.compile(r"Level\d_RuleBasedTransformer")
RULES = (
    "EliminateIdentity", "EliminateSlice", "EliminateDropout", "UnsqueezeElimination", "ExpandElimination",
    "CastElimination", "CastChainElimination", "PreShapeNodeElimination", "NoopElimination", "DivMulFusion",
    "FuseReluClip", "GemmSumFusion", "GemmTransposeFusion", "NotWhereFusion", "ConvAddFusion", "ConvMulFusion",
    "ConvBNFusion", "Pad_Fusion", "MatMul_BatchNormalization_Fusion", "LabelEncoderFusion", "ClipQuantRewrite",
    "ReluQuantRewrite",
)  # fmt: skip
"""The rules of ONNX Runtime's transformations that consist of rules; it ignores names that a release does not know."""


@dataclass
class SettingsFound:
    """The settings that remove a failure. `together`: a smallest set of settings that remove it only together.

    `optimizers`: the smallest set of ONNX Runtime's optimizers without which the failure is gone. `refused`: settings
    that the runtime does not accept, or with which it fails otherwise, with the reason.
    """

    runtime: str = ""
    failure: str = ""
    removes: list[str] = field(default_factory=list)
    together: list[str] = field(default_factory=list)
    optimizers: list[str] = field(default_factory=list)
    stays: list[str] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)

    def text(self) -> str:
        """Return the answer in the first line, then the outcome of each setting."""
        rows = [
            *((name, "removes the failure") for name in self.removes),
            *((name, "the failure stays") for name in self.stays),
            *((name, f"not tried: {why}") for name, why in self.refused.items()),
        ]
        width = max((len(name) for name, _ in rows), default=0) + 2
        failure = [f"the failure: {self.failure}"] if self.failure else []
        return "\n".join([self.verdict, *failure, "", *(f"{name:{width}}{what}" for name, what in rows)]) + "\n"

    @property
    def verdict(self) -> str:
        """The answer in one line."""
        if not self.failure:
            return f"the failure is not there in {self.runtime}"
        if self.optimizers:
            return f"the failure is gone without {', '.join(self.optimizers)} (disabled_optimizers)"
        if self.removes:
            return f"{self.removes[0]} removes the failure"
        if self.together:
            return f"only together remove the failure: {', '.join(self.together)}"
        return f"no setting of {self.runtime} removes the failure"

    def to_dict(self) -> dict[str, Any]:
        """Return the outcome for JSON."""
        return {"verdict": self.verdict, **asdict(self)}

    @property
    def exit_code(self) -> int:
        """0 if the failure can be removed, 1 if no setting removes it, 2 if it is not there."""
        return 2 if not self.failure else 0 if self.removes or self.together or self.optimizers else 1


class Search:
    """Tries settings. `runtime_of(config, environment, cached)` returns a runtime with settings; raises CannotRun."""

    def __init__(
        self,
        check: ByModel,
        runtime_of: Callable[[Mapping[str, str], Mapping[str, str], bool], Apart],
        progress: Callable[[str], None] = lambda text: None,
    ) -> None:
        self._check, self._runtime_of, self._progress = check, runtime_of, progress

    def run(self) -> SettingsFound:
        """Raises CannotRun if the runtime cannot be used, and NoRelease if it fails otherwise."""
        runtime = self._runtime_of({}, {}, False)
        found = SettingsFound(runtime.name)
        is_onnx = not runtime.runs_parts
        if not self._check.fails(runtime):
            runtime.close()
            return found
        runtime.close()
        found.failure = self._check.message
        tried: list[Setting] = []
        for setting in ONNX_RUNTIME if is_onnx else OPENVINO:
            self._progress(f"{runtime.name}: {setting.name}")
            try:
                (found.stays if self._fails([setting]) else found.removes).append(setting.name)
                tried.append(setting)
            except (CannotRun, NoRelease) as error:
                found.refused[setting.name] = str(error)
        if is_onnx:
            if any("level" in setting.config and setting.name in found.removes for setting in tried):
                found.optimizers = self._optimizers()
        elif not found.removes and len(tried) > 1:
            self._progress(f"{runtime.name}: all settings together")
            if self._removes(tried):
                found.together = [one.name for one in fewest(tried, self._removes)]
        return found

    def _fails(self, settings: Sequence[Setting]) -> bool:
        config = {name: value for one in settings for name, value in one.config.items()}
        environment = {name: value for one in settings for name, value in one.environment.items()}
        runtime = self._runtime_of(config, environment, any(one.cached for one in settings))
        try:
            return self._check.fails(runtime)
        finally:
            runtime.close()

    def _removes(self, settings: Sequence[Setting]) -> bool:
        try:
            return not self._fails(settings)
        except (CannotRun, NoRelease):
            return False

    def _optimizers(self) -> list[str]:
        """Return the smallest set of ONNX Runtime's optimizers without which the failure is gone."""
        runtime = self._runtime_of({"verbose": "yes"}, {}, False)
        try:
            self._check.fails(runtime)
            names = list(dict.fromkeys(_MODIFIED.findall(runtime.worker.printed)))
        finally:
            runtime.close()
        # All optimizers together may not be the cause: layouts, for example, belong to a level as well.
        if not names or not self._gone_without(names):
            return []
        needed = fewest(names, self._gone_without)
        rules = [*(name for name in needed if not _OF_RULES.fullmatch(name)), *RULES]
        if rules != needed and any(map(_OF_RULES.fullmatch, needed)) and self._gone_without(rules):
            return fewest(rules, self._gone_without)
        return needed

    def _gone_without(self, names: Sequence[str]) -> bool:
        self._progress(f"ONNX Runtime without {', '.join(names)}")
        return self._removes([Setting("", {"without": ",".join(names)})])
