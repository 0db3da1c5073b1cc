"""Whether two normal forms match: equal keys, or numbers within the policy's tolerance, member by member."""

from dataclasses import dataclass
from fractions import Fraction

from verify.grading.normal import Form
from verify.grading.policy import Policy, tolerance

_TEMPERATURES = ("celsius", "fahrenheit")


@dataclass(frozen=True, slots=True)
class Comparison:
    """The comparing half of a policy, with its tolerances made exact."""

    absolute: Fraction
    relative: Fraction
    scale_small: bool
    percent_as_ratio: bool

    @classmethod
    def of(cls, policy: Policy) -> "Comparison":
        """Raises `UsageError` for a tolerance that is no number."""
        return cls(tolerance(policy.abs_tol), tolerance(policy.rel_tol), policy.scale_small, policy.percent_as_ratio)

    def match(self, one: Form, other: Form) -> bool:
        """Symmetric. Reflexive for every form. Not transitive: 5 matches both `5 cm` and `5 m`, which do not
        match.
        """
        if _conflict(one.left, other.left) or _units_conflict(one.unit, other.unit):
            return False
        if one.parts or other.parts:
            return (
                one.kind == other.kind
                and len(one.parts) == len(other.parts)
                and all(map(self.match, one.parts, other.parts))
            )
        if one.key == other.key:
            return True
        if one.value is None or other.value is None:
            return False
        factors = (1, 100, Fraction(1, 100)) if self.percent_as_ratio else (1,)
        return any(self.close(one.value * factor, other.value) for factor in factors)

    def close(self, one: Fraction, other: Fraction) -> bool:
        """Whether two numbers are within the tolerance; exact arithmetic, so integers are never rounded
        together.
        """
        if one.denominator == other.denominator == 1 and self.absolute < 1 and not self.relative:
            return one == other
        size = max(abs(one), abs(other))
        absolute = self.absolute * min(Fraction(1), size) if self.scale_small else self.absolute
        return abs(one - other) <= max(absolute, self.relative * size)


def _conflict(one: str, other: str) -> bool:
    """Different names for the same value: `x = 5` is no answer to `y = 5`, but `y = 2x` is one to `f(x) =
    2x`.
    """
    return bool(one and other) and one != other and not ("y" in (one, other) and "(" in one + other)


def _units_conflict(one: str, other: str) -> bool:
    if not (one and other) or one == other:
        return False
    return not ("degree" in (one, other) and (one in _TEMPERATURES or other in _TEMPERATURES))
