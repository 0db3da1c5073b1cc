"""Statistics that have parameters, computed with others; and p-values and intervals mistaken for each other."""

from collections.abc import Sequence
from fractions import Fraction

from schemas.claims import Parameter
from verify.cells import CellData
from verify.claims import BoundClaim
from verify.diagnostics.accident import normal_mass
from verify.diagnostics.alternatives.reading import Reading, Step
from verify.estimates import STATISTICS, Unavailable, Value, estimate
from verify.inferences import INFERENCES
from verify.settings import Study

MISTAKEN: dict[str, tuple[tuple[str, str], ...]] = {
    "p_value": (
        ("p_holm", "Holm's p in place of the raw one"),
        ("p_mcnemar", "McNemar's p in place of the bootstrap's"),
    ),
    "p_holm": (("p_value", "the raw p in place of Holm's"),),
    "p_mcnemar": (("p_value", "the bootstrap's p in place of McNemar's"),),
    "ci_low": (("ci_high", "the interval's other end"),),
    "ci_high": (("ci_low", "the interval's other end"),),
}
FAMILIES = {"setting": "corrected within the setting", "all": "corrected over all comparisons"}
NUMBERED = ("k", "index", "depth", "round")
"""Parameters that count something, and so may be one off or another's."""
FAR = 16


class ParameterReader:
    """A statistic by name, with other parameters or under another name."""

    def __init__(self, study: Study, data: CellData, claim: BoundClaim) -> None:
        self.study, self.data, self.claim = study, data, claim
        ours = self.read(())
        middle, reach = (0.0, 1.0) if ours is None else (float((ours.low + ours.high) / 2), float(ours.high - ours.low))
        # Nothing general is known of the spread between runs: half of the value, or what draws allow, if that is more.
        self.mass = normal_mass(middle, max(abs(middle) / 2, reach), min(0.0, 2 * middle), max(1.0, 2 * middle))

    def steps(self) -> list[Step]:
        """Other statistics that are taken for this one, other ties and subsets, other numbers."""
        name, given = self.claim.statistic, self.claim.parameters
        allowed = (STATISTICS.get(name) or INFERENCES[name]).parameters
        found = []
        if "subset" in allowed and "subset" not in given:
            found.append(Step("row scope", "subset", "complete", "only questions that every method answered"))
        if "tie_rule" in allowed:
            found += [
                Step("tie rule", "tie_rule", rule, f"tie rule `{rule}`")
                for rule in ("first", "random", "right", "wrong")
                if rule != given.get("tie_rule")
            ]
        found += [Step("statistic", "name", other, label) for other, label in MISTAKEN.get(name, ())]
        if "family" in allowed:
            found += [
                Step("statistic", "family", family, label)
                for family, label in FAMILIES.items()
                if family != given.get("family")
            ]
        for number in NUMBERED:
            if number in allowed and number in given:
                found += [
                    Step("statistic", number, other, f"{number} = {other} in place of {given[number]}")
                    for other in range(FAR + 1)
                    if other != given[number]
                ]
        return found

    def read(self, steps: Sequence[Step]) -> Reading | None:
        """As declared, with each step taken; the range is what honest draws allow."""
        name = self.claim.statistic
        parameters: dict[str, Parameter] = dict(self.claim.parameters)
        for step in steps:
            if step.field == "name":
                name = str(step.value)
            elif step.value is not None:
                parameters[step.field] = step.value
        described = STATISTICS.get(name) or INFERENCES[name]
        parameters = {key: value for key, value in parameters.items() if key in described.parameters}
        found: Value | Unavailable
        if name in INFERENCES:
            found = INFERENCES[name].compute(self.study, self.claim.cell, parameters)
        elif any(parameters.get(number) == 0 for number in ("k",)):
            return None
        else:
            found = estimate(self.data, name, parameters)
        if isinstance(found, Unavailable) or found.n == 0:
            return None
        return Reading(Fraction(found.low), Fraction(found.high), (name, found.low, found.high, found.value))
