"""A lowered plan: the lowered forms of its steps, and the groups of steps that are computed together."""

from __future__ import annotations

from irexec.ops.spec.operator import NodeTypes
from irexec.ops.spec.prepared import Prepared
from irexec.runtime.engine.plan import Plan
from irexec.runtime.lowering.fusion import Group, find_groups
from irexec.runtime.lowering.grids import grids_of
from irexec.runtime.lowering.table import Site, lowered
from irexec.runtime.lowering.whole import chain_of


class LoweredPlan:
    """The data that all runners of a plan share. Without a reference to the plan, it does not keep the plan in
    memory.
    """

    def __init__(self, plan: Plan, prepared: Prepared) -> None:
        read = {*plan.results, *(slot for step in plan.steps for slot in step.inputs)}
        grids = grids_of(plan.steps, plan.template)
        sites = []
        for step in plan.steps:
            constants = tuple([plan.template[slot] for slot in step.inputs])
            used = tuple([slot in read for slot in step.outputs])
            types = NodeTypes(step.given, step.types, constants, step.node.all_attributes, used)
            own = [grids.get(slot) for slot in step.inputs]
            sites.append(Site(types, step.call, prepared, step.node, own))
        forms = {}
        for number, (step, site) in enumerate(zip(plan.steps, sites, strict=True)):
            if (form := lowered(step, site)) is not None:
                forms[number] = form
        groups = find_groups(plan, sites, forms, chain_of)
        self.groups: dict[int, Group] = {group.first: group for group in groups}
