"""What a method declares of itself."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from generators.recorder import Recorder
from schemas.errors import UsageError
from schemas.manifest import CallRange, DecisionRule, Selection
from schemas.record import Role

Parameters = Mapping[str, int | bool]
Ranges = dict[Role, tuple[int, int]]


@dataclass(frozen=True, kw_only=True)
class Method:
    """A way to an answer. `run` makes all calls of one question; everything else is what a manifest has to say."""

    name: str
    summary: str
    """One line for lists."""
    run: Callable[[Recorder, Parameters], None]
    decision_rule: DecisionRule
    calls: Callable[[Parameters], Ranges]
    """Calls a record makes, by role: least and most."""
    prompts: tuple[str, ...]
    """Names of the prompts that it uses."""
    diverse: bool
    """Whether it lives on different samples (run at the plan's temperature) or is run at temperature 0."""
    parameters: Parameters = field(default_factory=dict)
    """Its parameters and their defaults. Numbers are at least 1."""
    selection: Selection | None = None
    pool: bool = False
    """Whether its records are the independent samples that other methods are compared with."""
    scored: bool = False
    """Whether its samples are scored afterwards by a reward model."""
    in_process: bool = False
    """Whether it asks for what no server of the OpenAI protocol offers: a beam, or to go on from given tokens."""

    def with_defaults(self, given: Parameters) -> dict[str, int | bool]:
        """The parameters given, completed. Raises UsageError for one that is unknown or of the wrong kind."""
        for name, value in given.items():
            if name not in self.parameters:
                known = ", ".join(self.parameters) or "none"
                raise UsageError(f"method {self.name} has no parameter {name!r}; it has {known}.")
            default = self.parameters[name]
            if isinstance(default, bool) != isinstance(value, bool):
                kind = "true or false" if isinstance(default, bool) else "a whole number"
                raise UsageError(f"method {self.name}: {name} is {kind}.")
            if not isinstance(value, bool) and not 1 <= value <= 10_000:
                raise UsageError(f"method {self.name}: {name} is {value}; it has to be from 1 to 10000.")
        return {**self.parameters, **given}

    def ranges(self, parameters: Parameters) -> dict[Role, CallRange]:
        """`calls` as the manifest holds them."""
        return {role: CallRange(min=low, max=high) for role, (low, high) in self.calls(parameters).items()}
