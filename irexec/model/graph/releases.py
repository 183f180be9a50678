"""Constructs that an older OpenVINO release cannot read: operation sets and the IR version introduced later.

Sources: OpenVINO's page "Available Operation Sets", which ends with opset15; for later sets, the operators that the
published packages of OpenVINO can read; the release notes of 2022.1 for IR version 11.
"""

from __future__ import annotations

import re

from irexec.core.diagnostics.findings import At, Findings
from irexec.core.forms import ID, read
from irexec.ir.checks.bodies import bodies_of
from irexec.ir.document import Document, Net
from irexec.ops.spec import contents

Release = tuple[int, int]

FIRST_RELEASE: dict[int, Release] = {
    1: (2020, 1), 2: (2020, 2), 3: (2020, 4), 4: (2021, 1), 5: (2021, 2), 6: (2021, 3), 7: (2021, 4), 8: (2022, 1),
    9: (2022, 2), 10: (2022, 3), 11: (2023, 0), 12: (2023, 1), 13: (2023, 2), 14: (2024, 0), 15: (2024, 5),
    16: (2025, 0), 17: (2026, 2),
}  # fmt: skip
"""Operation set → the first release that contains all of it."""
FIRST_WITH_IR_11: Release = (2022, 1)


def release_of(text: str) -> Release:
    """Return a release such as 2024.2 (or 2024.2.0), of 2020.1 or later. Raises ValueError for any other text.

    A release newer than all of `FIRST_RELEASE` is taken to have the newest operation set.
    """
    match = re.fullmatch(r"(\d{4})\.(\d)(?:\.\d+)*", text)
    if match is None:
        raise ValueError(f"{text!r} is not an OpenVINO release such as 2024.2")
    release = int(match[1]), int(match[2])
    if release < FIRST_RELEASE[1]:
        raise ValueError(f"the oldest release with operation sets is {named(FIRST_RELEASE[1])}")
    return release


def named(release: Release) -> str:
    """Return a release in OpenVINO's notation, such as 2024.2."""
    return f"{release[0]}.{release[1]}"


def check_release(document: Document, release: Release, findings: Findings) -> None:
    """Report every layer, and the IR version, that an OpenVINO release cannot read."""
    newest = max(opset for opset, first in FIRST_RELEASE.items() if first <= release)
    version = read(ID, document.net.version).value
    if version is not None and version > 10 and release < FIRST_WITH_IR_11:
        message = f"OpenVINO {named(release)} does not support IR version {version}, which was introduced with 2022.1"
        findings.add("L013", message, at=At(0, "version"), attribute="version", found=str(version), allowed="10")
    _check_net(document.net, release, newest, findings)


def _check_net(net: Net, release: Release, newest: int, findings: Findings) -> None:
    for layer in net.layers:
        number = contents.OPSETS.get(layer.version or "")
        type = contents.canonical_type(layer.type or "")
        if number is not None and type is not None and number > newest:
            introduced = contents.introduced(type, number)
            older = contents.introduced(type, newest)
            message = f"OpenVINO {named(release)} has no {layer.version}"
            hint: str | None = None
            meant: tuple[str, ...] = ()
            if introduced is not None and introduced <= newest:
                hint, meant = f'version="opset{introduced}" selects the same operator', (f"opset{introduced}",)
            elif introduced is not None:
                message += f"; {type}-{introduced} was introduced with {named(FIRST_RELEASE[introduced])}"
                hint = f"this release has another version of the operator, {type}-{older}" if older else None
            findings.add(
                "L013",
                message,
                at=At(layer.at, "version"),
                layer=layer.ref,
                attribute="version",
                found=layer.version,
                allowed=f"opset1 to opset{newest}",
                hint=hint,
                candidates=meant,
            )
        for body in bodies_of(layer):
            _check_net(body, release, newest, findings)
