"""Modules whose results an export does not contain, because they are merged with the modules that read them."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from irexec.tools.compare.pytorch.pairing import Made
from irexec.tools.compare.pytorch.server import Call


def merged(calls: Sequence[Call], paired: Collection[Made]) -> dict[int, int]:
    """Return the calls of modules that are merged, each with the call whose result includes its computation.

    A convolution whose normalization is folded into its weights is merged: its result is not a value of the model, but
    that of the normalization, which reads it, is. Layers that compute this result from the inputs of the convolution
    compute both modules. `paired`: the results that are values of the model.
    """
    readers: dict[object, list[int]] = {}
    for number, call in enumerate(calls):
        for entry in call.given:
            readers.setdefault(entry.key, []).append(number)
    there = {made.call for made in paired}
    found: dict[int, int] = {}
    # From the last call, so that a chain of merged calls ends at a call with a pair. Modules return before the modules
    # that contain them: the first reader is the innermost one.
    for number in reversed(range(len(calls))):
        if number in there:
            continue
        for made in calls[number].results:
            later = (reader for reader in readers.get(made and made.key, ()) if reader > number)
            reader = next((reader for reader in later if reader in there or reader in found), None)
            if reader is not None:
                found[number] = found.get(reader, reader)
                break
    return found
