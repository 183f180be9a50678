"""PyTorch in the other process: it creates the user's network, runs it, and records the results of its modules."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from irexec.core.environment import installing
from irexec.core.types import BF16, Array
from irexec.tools.compare.pytorch.samples import Sample, sample, sample_of
from irexec.tools.compare.runtimes.runtime import CannotRun, Steps

_TRIED = 16
"""The largest number of modules that are tried one by one."""
NETWORK = ""
"""The path of the network itself, whose results are the model's results."""


@dataclass(slots=True)
class Call:
    """One call of a module: its path in the network, its class, how often it was called before, and its results.

    `results` has None for a result that equals an input of the module: dropout, for example, computes nothing. `given`:
    the inputs, as they were when the module was called.
    """

    path: str
    kind: str
    number: int
    results: list[Sample | None] = field(default_factory=list)
    given: list[Sample] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The call as shown in messages: the path of the module, its class, and the number of a later call."""
        return f"{self.path} ({self.kind})" + (f", call {self.number + 1}" if self.number else "")


def call_of(found: Mapping[str, Any]) -> Call:
    """Return a call from its fields, as they are received from the other process."""
    results = [None if entry is None else sample_of(entry) for entry in found["results"]]
    return Call(found["path"], found["kind"], found["number"], results, [*map(sample_of, found["given"])])


class Server:
    """Runs a PyTorch network that a function of the user returns."""

    def __init__(self, factory: str) -> None:
        """`factory`: `package.module:function` or `file.py:function`. Raises CannotRun."""
        try:
            import torch
        except ImportError:
            raise CannotRun(f"PyTorch is not installed: {installing('torch')}", "F001") from None
        self._torch: Any = torch
        self._factory = factory
        # The fused encoder would not call the modules that it consists of.
        torch.backends.mha.set_fastpath_enabled(False)
        self._network = _made(factory, torch)
        self._inputs: list[list[str]] = []
        self._outputs: list[list[str]] = []

    def describe(self) -> dict[str, str]:
        return {"name": f"PyTorch {self._torch.__version__.partition('+')[0]} ({self._factory})"}

    def load(self, path: str, cache: bool) -> str:
        return ""

    def ports(self, inputs: list[list[str]], outputs: list[list[str]]) -> None:
        """Set the names of the ports of the exported model, in its order."""
        self._inputs, self._outputs = inputs, outputs

    def results(self, steps: Steps) -> list[list[Array]]:
        return [self._ordered(self._run(step)) for step in steps]

    def calls(self, step: Sequence[Array]) -> list[dict[str, Any]]:
        """Return the calls of modules in the order in which they return, with samples of their results."""
        given: dict[int, list[list[Sample]]] = {}
        found: list[Call] = []

        def before(path: str, module: Any, arguments: Any) -> None:
            samples = [sample(self._array(tensor)) for tensor in self._tensors(arguments)]
            given.setdefault(id(module), []).append([entry for entry in samples if entry is not None])

        def after(path: str, number: int, module: Any, result: Any) -> None:
            inputs = given[id(module)].pop()
            call = Call(path, type(module).__name__, number, given=inputs)
            for tensor in self._tensors(result):
                made = sample(self._array(tensor))
                repeated = made is not None and any(made.is_equal(entry) for entry in inputs)
                call.results.append(None if repeated else made)
            found.append(call)

        self._hooked(step, before, after)
        return [asdict(call) for call in found]

    def observe(self, steps: Steps, values: Sequence[Sequence[Any]]) -> list[list[Array | None]]:
        """Return results of modules: `layer` is the path, `index` the number of the result, `names` the call."""
        wanted = {(layer, int(names[0]), index): place for place, (layer, index, names) in enumerate(values)}
        found = []
        for step in steps:
            kept: dict[int, Array] = {}

            def after(path: str, number: int, module: Any, result: Any, kept: dict[int, Array] = kept) -> None:
                for index, tensor in enumerate(self._tensors(result)):
                    if (path, number, index) in wanted:
                        # A later module may overwrite the tensor.
                        kept[wanted[path, number, index]] = self._array(tensor).copy()

            results = self._ordered(self._hooked(step, lambda path, module, arguments: None, after))
            for (path, _, index), place in wanted.items():
                if path == NETWORK:
                    kept[place] = results[index]
            found.append([kept.get(place) for place in range(len(values))])
        return found

    def without_effect(self, step: Sequence[Array], calls: Sequence[Sequence[Any]]) -> list[Sequence[Any]]:
        """Return the calls of modules, given by path and number, that do not affect the network's results, which
        stay the same, bit for bit, if the results of the calls are NaN.
        """
        expected = self._ordered(self._run(step))

        def without(chosen: Sequence[Sequence[Any]]) -> bool:
            def after(path: str, number: int, module: Any, result: Any) -> None:
                if [path, number] in chosen:
                    for tensor in self._tensors(result):
                        if not tensor.is_floating_point():
                            raise RuntimeError("only floating-point numbers can be NaN")
                        tensor.fill_(float("nan"))

            try:
                found = self._ordered(self._hooked(step, lambda path, module, arguments: None, after))
            except (CannotRun, RuntimeError):  # A network that rejects NaN uses the results.
                return False
            return all(
                np.array_equal(a, b, equal_nan=b.dtype.kind == "f") for a, b in zip(found, expected, strict=True)
            )

        if without(calls):
            return list(calls)
        return [call for call in calls[:_TRIED] if without([call])]

    def about(self) -> dict[str, str]:
        parameters = sum(parameter.numel() for parameter in self._network.parameters())
        return {"network": type(self._network).__name__, "parameters": f"{parameters:,}"}

    def _hooked(
        self,
        step: Sequence[Array],
        before: Callable[[str, Any, Any], None],
        after: Callable[[str, int, Any, Any], None],
    ) -> Any:
        """Return the result of the network, run with functions that are called before and after each of its modules."""
        hooks, counts = [], dict[str, int]()

        def begin(path: str) -> Callable[..., None]:
            return lambda module, arguments, named: before(path, module, (arguments, named))

        def end(path: str) -> Callable[..., None]:
            def ended(module: Any, arguments: Any, named: Any, result: Any) -> None:
                number = counts[path] = counts.get(path, -1) + 1
                after(path, number, module, result)

            return ended

        try:
            for path, module in self._network.named_modules():
                if path:
                    hooks.append(module.register_forward_pre_hook(begin(path), with_kwargs=True))
                    hooks.append(module.register_forward_hook(end(path), with_kwargs=True))
            return self._run(step)
        finally:
            for hook in hooks:
                hook.remove()

    def _run(self, step: Sequence[Array]) -> Any:
        tensors = [self._tensor(array) for array in step]
        parameters = inspect.signature(self._network.forward).parameters.values()
        taken = {entry.name for entry in parameters if entry.kind in (entry.POSITIONAL_OR_KEYWORD, entry.KEYWORD_ONLY)}
        named = [next((name for name in names if name in taken), None) for names in self._inputs]
        try:
            with self._torch.no_grad():
                if None not in named and len(set(named)) == len(tensors):
                    return self._network(**{str(name): tensor for name, tensor in zip(named, tensors, strict=True)})
                return self._network(*tensors)
        except Exception as error:  # The user's network may raise any exception.
            raise CannotRun(f"the network cannot be run: {_described(error)}") from None

    def _ordered(self, result: Any) -> list[Array]:
        """Return the results in the order of the exported model: by name if they have names, otherwise by position."""
        if isinstance(result, Mapping):
            keys = [next((name for name in names if name in result), None) for names in self._outputs]
            if None not in keys and len(set(keys)) == len(keys):
                return [self._array(result[key]).copy() for key in keys]
        found = [self._array(tensor).copy() for tensor in self._tensors(result)]
        if len(found) != len(self._outputs):
            raise CannotRun(f"the network has {len(found)} results, but the model has {len(self._outputs)}")
        return found

    def _tensors(self, value: Any) -> Iterator[Any]:
        """Yield the tensors of nested tuples, lists, dictionaries and objects such as the outputs of transformers."""
        if isinstance(value, self._torch.Tensor):
            yield value
        elif isinstance(value, Mapping):
            for entry in value.values():
                yield from self._tensors(entry)
        elif isinstance(value, (tuple, list)):
            for entry in value:
                yield from self._tensors(entry)

    def _tensor(self, array: Array) -> Any:
        array = np.array(array, order="C")
        if dict(array.dtype.metadata or {}).get("type") == str(BF16.dtype):
            return self._torch.from_numpy(array.view(np.int16)).view(self._torch.bfloat16)
        try:
            return self._torch.from_numpy(array)
        except TypeError:
            raise CannotRun(f"an input of type {array.dtype} cannot be passed to PyTorch") from None

    def _array(self, tensor: Any) -> Array:
        plain = tensor.detach().cpu().contiguous()
        if plain.dtype == self._torch.bfloat16:
            return np.asarray(plain.view(self._torch.int16).numpy()).view(BF16.dtype)
        return np.asarray(plain.numpy())


def _made(factory: str, torch: Any) -> Any:
    """Import the function, call it, and return its network, ready for inference."""
    place, _, name = factory.rpartition(":")
    if not place or not name:
        raise CannotRun(f"{factory!r} is not of the form package.module:function or file.py:function")
    function = _attribute(_module(place), place, name)
    try:
        network = function()
    except Exception as error:  # The user's function may raise any exception.
        raise CannotRun(f"{factory} failed: {_described(error)}") from None
    if not isinstance(network, torch.nn.Module):
        raise CannotRun(f"{factory} returned {type(network).__name__}, expected torch.nn.Module")
    return network.eval()


def _module(place: str) -> Any:
    """Return the module of this name, or of this file."""
    try:
        if not place.endswith(".py"):
            return importlib.import_module(place)
        name = f"irexec_network_{Path(place).stem}"
        spec = importlib.util.spec_from_file_location(name, place)
        assert spec is not None and spec.loader is not None
        module = sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module
    except FileNotFoundError as error:
        if error.filename == os.path.abspath(place):
            raise CannotRun(f"{place} does not exist") from None
        raise CannotRun(f"{place} cannot be imported: {_described(error)}") from None
    except ModuleNotFoundError as error:
        hint = (
            ""
            if place.endswith(".py")
            else "; the current folder is searched only if PYTHONPATH contains its full path"
        )
        raise CannotRun(f"{place} cannot be imported: {error}{hint}") from None
    except (Exception, SystemExit) as error:  # The user's module may raise any exception.
        raise CannotRun(f"{place} cannot be imported: {_described(error)}") from None


def _attribute(module: Any, place: str, name: str) -> Any:
    found = module
    for part in name.split("."):
        found = getattr(found, part, None)
    if not callable(found):
        raise CannotRun(f"{place} has no function {name!r}")
    return found


def _described(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:300]}" if text else type(error).__name__
