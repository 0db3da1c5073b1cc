"""The report: what an audit found, for programs and for people."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from schemas.claims import Parameter

Verdict = Literal["confirmed", "refuted", "unverifiable"]
Severity = Literal["error", "warning", "note"]


class PrintedClaim(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What was claimed, in its own words."""

    text: Annotated[str, Meta(description="The printed value, or what the release says of itself.")]
    source: Annotated[str | None, Meta(description="Where it is printed.")] = None


class RecordRef(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where to look: a record, a line of a file, or a file."""

    cell: str | None = None
    question_id: str | None = None
    file: str | None = None
    line: int | None = None
    note: Annotated[str | None, Meta(description="What is to be seen there.")] = None


class Diagnosis(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An alternative computation that prints exactly the claimed value; consistent with it, never proof of it."""

    alternative: Annotated[str, Meta(description="What was computed otherwise.")]
    value: Annotated[float, Meta(description="What it gives.")]
    kind: Annotated[
        Literal["matching", "alias", "coincidence"],
        Meta(
            description="`alias`: the same as an earlier one on every question; `coincidence`: may well be luck, or "
            "does not explain the other claims that a stated cause does."
        ),
    ]
    accident: Annotated[
        float,
        Meta(
            ge=0,
            le=1,
            description="Upper bound on the chance that one of the alternatives tried fits by luck: here, or in all "
            "claims that it explains together.",
        ),
    ]
    records: Annotated[list[RecordRef], Meta(description="Records whose outcome it changes.")] = []


class Cause(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One alternative that explains several claims at once; they are consistent with it, which is no proof."""

    alternative: Annotated[str, Meta(description="What was computed otherwise.")]
    aliases: Annotated[list[str], Meta(description="Alternatives that are the same on every question of these cells.")]
    rivals: Annotated[list[str], Meta(description="Others that print the same values: these cannot tell them apart.")]
    statistic: str
    scope: Annotated[str, Meta(description="Whose claims: the column's, or one method's, dataset's … of it.")]
    claims: Annotated[list[str], Meta(description="Ids of the findings that it explains: all that do not follow.")]
    cells: Annotated[int, Meta(description="Independent cells among them; two at least.")]
    held: Annotated[int, Meta(description="Claims of the scope that follow as declared; it contradicts none.")]
    accident: Annotated[float, Meta(ge=0, le=1, description="As in a diagnosis, over all these cells together.")]
    tried: Annotated[int, Meta(description="Distinct alternatives tried.")]


class Finding(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One result of one check."""

    id: Annotated[str, Meta(description="`<check>:<subject>`, unique in the report.")]
    check: str
    verdict: Verdict
    severity: Annotated[Severity, Meta(description="Only `error` decides the exit code.")]
    subject: Annotated[str, Meta(description="The cell, file, dataset or claim that was checked.")]
    message: str
    claim: PrintedClaim | None = None
    estimate: Annotated[float | None, Meta(description="Ours, in natural units (rates as fractions).")] = None
    exact: Annotated[str | None, Meta(description="The same as an exact ratio of integers, where it is one.")] = None
    tolerance: Annotated[
        tuple[float | None, float | None] | None,
        Meta(description="Least and greatest value that prints as claimed; null = no bound."),
    ] = None
    records: list[RecordRef] = []
    records_total: Annotated[int, Meta(description="Records concerned; `records` lists the first of them.")] = 0
    diagnosis: list[Diagnosis] = []
    tried: Annotated[int, Meta(description="Distinct alternatives tried on it.")] = 0


class Estimate(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One statistic of one cell, claimed or not."""

    cell: str
    setting: str
    statistic: str
    parameters: dict[str, Parameter]
    value: float
    n: Annotated[int, Meta(description="Questions (or generations) that it is over.")]
    unit: str
    low: Annotated[float | None, Meta(description="Least value that unseen records or ties allow.")] = None
    high: Annotated[float | None, Meta(description="Greatest value that unseen records or ties allow.")] = None


class EqualCost(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One method against the sampling curve of its setting, at the method's own mean cost."""

    cell: str
    setting: str
    questions: Annotated[int, Meta(description="Questions known in the cell and in the pool.")]
    accuracy: float
    cost: Annotated[float, Meta(description="Mean over questions, in `unit`.")]
    unit: Annotated[str, Meta(description="completion, total or latency (tokens), money, flops.")]
    baseline: Annotated[float, Meta(description="Exact accuracy of the curve at that cost.")]
    clamped: Annotated[bool, Meta(description="The method costs less than one sample, which stands in.")]
    difference: float
    error: Annotated[float, Meta(description="Standard error of the difference.")]
    ci_low: Annotated[float | None, Meta(description="95% percentile interval; null where there is none.")]
    ci_high: float | None
    t_low: Annotated[float | None, Meta(description="95% bootstrap-t interval beside it; null where there is none.")]
    t_high: float | None
    p_value: float
    p_holm: Annotated[float | None, Meta(description="Within the declared family, else the setting.")]
    p_romano_wolf: Annotated[
        float | None, Meta(description="Step-down from joint resamples; null where questions differ in the family.")
    ]
    few_differences: Annotated[bool, Meta(description="Fewer than ten questions differ: the interval is too narrow.")]
    verdict: Annotated[str, Meta(description="In words, with what the interval still permits.")]


class ClaimChange(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A published number whose verdict depends on the grader."""

    claim: Annotated[str, Meta(description="Id of the claim's finding.")]
    declared: Annotated[Verdict, Meta(description="By the declared policy: the verdict of the report.")]
    other: Annotated[Verdict, Meta(description="By the other grader.")]
    message: Annotated[str, Meta(description="What the other grader gives.")]


class Sensitivity(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What another grader, named by the reader, would change. It decides nothing of the report's verdict."""

    grader: Annotated[str, Meta(description="Policy, or `pkg.mod:fn`.")]
    generations_total: Annotated[int, Meta(description="Generations whose grade changes.")]
    records_total: Annotated[int, Meta(description="Records whose outcome changes.")]
    records: list[RecordRef]
    claims: list[ClaimChange]


class RuleChange(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A verdict that depends on a rule which could have been declared otherwise."""

    subject: Annotated[str, Meta(description="Id of a claim's finding, or `equal-cost:` and a cell.")]
    rule: Annotated[str, Meta(description="The other rule.")]
    declared: Annotated[
        str,
        Meta(
            description="Verdict under the declared rule. For a comparison: better, worse or no reliable difference, "
            "by the normal interval, and not corrected for their number."
        ),
    ]
    other: Annotated[str, Meta(description="Verdict under the other one.")]
    low: Annotated[float, Meta(description="What the other rule gives, at least (natural units).")]
    high: Annotated[float, Meta(description="And at most: ties or draws may leave it open.")]


class OtherRules(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What depends on ties, unreadable answers, lenient grading or incomplete cases. It decides no verdict."""

    rules: Annotated[list[str], Meta(description="Those that make any difference to some question.")]
    numbers: Annotated[int, Meta(description="Published numbers they were tried on.")]
    comparisons: Annotated[int, Meta(description="Comparisons at equal cost they were tried on.")]
    changes: list[RuleChange]


DiagnosticKind = Literal["truncation", "judge", "engagement", "refinement", "redundancy", "compute"]


class Measure(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One number of a diagnostic."""

    name: Annotated[str, Meta(description="A statistic's name where there is one of this meaning.")]
    value: Annotated[float, Meta(description="In natural units (rates as fractions).")]
    n: Annotated[int | None, Meta(description="Questions (or calls, or pairs of answers) that it is over.")] = None
    parameters: Annotated[
        dict[str, Parameter], Meta(description="Such as depth, k, unit, or another cell that it is compared with.")
    ] = {}


class DiagnosticTest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One significance test of a diagnostic."""

    name: str
    p_value: float
    p_adjusted: Annotated[
        float | None, Meta(description="Bonferroni over the tests that one alarm rests on; null where it is one test.")
    ] = None
    statistic: float | None = None


class Diagnostic(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one question about a cell found, claimed or not. It never decides the report's verdict."""

    diagnostic: DiagnosticKind
    subject: Annotated[str, Meta(description="The cell.")]
    alarm: Annotated[bool, Meta(description="Whether a finding (warning) of the same check and subject says so too.")]
    statements: Annotated[list[str], Meta(description="In words; empty where there is nothing that needs saying.")]
    measures: list[Measure]
    tests: list[DiagnosticTest]


class Counts(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many findings of severity `error` there are by verdict, and how many warnings and notes."""

    confirmed: int
    refuted: int
    unverifiable: int
    warnings: int
    notes: int


class Report(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`audit verify --format json`."""

    format_version: Literal["1.0"]
    tool_version: str
    release: Annotated[str, Meta(description="Title of the release.")]
    verdict: Annotated[
        Verdict, Meta(description="refuted if anything is; else unverifiable if anything is; else confirmed.")
    ]
    counts: Counts
    findings: list[Finding]
    causes: Annotated[
        list[Cause], Meta(description="What claims that do not follow are together consistent with.")
    ] = []
    estimates: list[Estimate]
    equal_cost: Annotated[list[EqualCost], Meta(description="Empty where no cell is declared as a `pool`.")] = []
    other_rules: Annotated[
        OtherRules | None, Meta(description="Null where no other rule makes any difference to any question.")
    ] = None
    diagnostics: Annotated[
        list[Diagnostic],
        Meta(description="What the release shows beyond its claims, by cell."),
    ] = []
    sensitivity: Annotated[
        Sensitivity | None, Meta(description="Only where the reader named another grader or policy.")
    ] = None
