"""Optional inputs that no call of the table has: they are added to drafts with shapes that follow from other inputs."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from irexec.core.types import I32, I64
from irexec.ops.spec.operator import Operator
from irexec.tools.conformance.changes import SMALL, pick
from irexec.tools.conformance.draft import Draft, DraftPort
from irexec.tools.conformance.seeds import calls_of

_TRIES, _MULTIPLES = 40, (1, 1, 2, 3, 4)


@lru_cache(maxsize=512)
def missing_input(operator: Operator) -> int | None:
    """Return the first input that no call of the table has; None if each input occurs in a call."""
    if operator.signature.is_variadic:
        return None
    longest = max(len(line[1]) for line in calls_of()[str(operator)])
    return longest if longest < len(operator.inputs) else None


def with_missing_inputs(rng: np.random.Generator, draft: Draft) -> Draft:
    """Return the draft with the inputs that no call has; the draft itself if no tried shape is legal."""
    if len(draft.ports) != missing_input(draft.operator) or not draft.given:
        return draft
    for _ in range(_TRIES):
        trial = draft.copy()
        while len(trial.ports) < len(draft.operator.inputs):
            trial.ports.append(_port(rng, trial))
            if trial.is_legal():
                return trial
    return draft


def _port(rng: np.random.Generator, draft: Draft) -> DraftPort:
    """Return the next input, with the shape of another input or with extents of all inputs or multiples of them."""
    number, signature = len(draft.ports), draft.operator.signature
    elements = signature.input(number).elements
    same = [
        port.kind
        for place, port in enumerate(draft.ports)
        if port is not None and elements.name and signature.input(place).elements.name == elements.name
    ]
    kind = same[0] if same else next((k for k in (I64, I32) if k in elements.types), sorted(elements.types, key=str)[0])
    extents = [n for port in draft.given for n in port.shape] or [1]
    drawn = tuple(int(pick(rng, extents) * pick(rng, _MULTIPLES)) for _ in range(int(pick(rng, (1, 1, 2)))))
    shape = pick(rng, draft.given).shape if rng.random() < 0.3 else drawn
    values = tuple(int(pick(rng, SMALL)) for _ in range(int(np.prod(shape)))) if kind.is_integral_number else None
    return DraftPort(signature.port_name(number), kind, shape, values)
