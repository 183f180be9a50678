"""The wanted changes as options of a command line: texts such as `image=1,3,224,224`."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Sequence
from typing import TypeVar

from irexec.core.diagnostics.findings import Findings
from irexec.core.types import ElementType
from irexec.tools.edit.changes import Numbers, Wanted
from irexec.tools.run.values import named, split

T = TypeVar("T")


def wanted_of(args: Namespace, findings: Findings) -> Wanted:
    """Return the changes that options ask for; invalid ones are reported as findings."""

    def given(option: str, convert: Callable[[str], T], form: str, *, only: bool = False) -> dict[str, T]:
        """`only`: the name may be left out for the only input."""
        texts = getattr(args, f"edit_{option}")
        return named(texts, convert, findings, f"--{option}", form, last=True, nameless=only)

    batch = args.edit_batch
    return Wanted(
        shapes=given("shape", str, "INPUT=1,3,224,224"),
        batch=int(batch) if batch is not None and batch.isdecimal() else batch,
        static=given("static", _size, "SYMBOL=512"),
        bounds=given("bound", _size, "SYMBOL=512"),
        layouts=given("layout", str, "INPUT=NHWC->NCHW", only=True),
        means=given("mean", _numbers, "INPUT=123.7,116.3,103.5", only=True),
        scales=given("scale", _numbers, "INPUT=58.4,57.1,57.4", only=True),
        reverse_channels=args.edit_reverse_channels,
        precisions=given("precision", str, "NAME=u8", only=True),
        inputs=args.edit_inputs,
        outputs=args.edit_outputs,
        types=given("replace", str, "LAYER=Sigmoid"),
        fold=args.fold,
        names=given("rename", str, "OLD=NEW"),
    )


def mapped(options: Sequence[str], findings: Findings) -> Wanted:
    """Return the preprocessing that `--map` describes, one step in each option: `x=NHWC->NCHW`, `x=u8`, `x=reverse`,
    `x=mean:1,2,3`, `x=scale:58.4`. The name may be left out for the only input.
    """
    layouts, precisions = dict[str, str](), dict[str, str]()
    numbers: dict[str, dict[str, Numbers]] = {"mean": {}, "scale": {}}
    reverse = []
    for option in options:
        name, step = split(option, last=True, nameless=True) or ("", option)
        kind, _, values = step.partition(":")
        try:
            if "->" in step:
                layouts[name] = step
            elif step == "reverse":
                reverse.append(name)
            elif kind in numbers:
                numbers[kind][name] = _numbers(values)
            elif ElementType.from_attribute(step) is not None:
                precisions[name] = step
            else:
                raise ValueError(f"{step!r} is not a step of preprocessing")
        except ValueError as error:
            hint = "write INPUT=NHWC->NCHW, INPUT=u8, INPUT=reverse, INPUT=mean:1,2,3 or INPUT=scale:58.4"
            findings.add("U004", f"--map {option}: {error}", hint=hint)
    return Wanted(
        layouts=layouts, means=numbers["mean"], scales=numbers["scale"], reverse_channels=reverse, precisions=precisions
    )


def _size(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise ValueError(f"{text!r} is not a size")
    return int(text)


def _numbers(text: str) -> Numbers:
    numbers: Sequence[float] = [float(part) for part in text.strip("[]").split(",")]
    return numbers[0] if len(numbers) == 1 else numbers
