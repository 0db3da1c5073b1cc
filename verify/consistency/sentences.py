"""Sentences: printed numbers and conditions over tables, and the choices of rows that would make them right."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from schemas.claims import Claims, Part, Scope, Statement
from schemas.consistency import Consistency, Place, Rescue, Standing
from schemas.errors import ClaimsError
from verify.consistency.evaluate import (
    LEVELS,
    NARROWEST,
    CannotDecideError,
    Context,
    ExpressionError,
    Level,
    Restriction,
    condition,
    evaluate,
    number,
    restriction,
)
from verify.consistency.grammar import Call, GrammarError, Node, parse, unparse
from verify.consistency.granularity import granularity
from verify.consistency.grid import Cell, Grid, read_cell
from verify.consistency.paper import Paper, because, place
from verify.consistency.values import Interval, approximate

MAX_STATEMENTS = 2000
MAX_SCOPES = 50
MAX_SHOWN = 120
"""Characters of an expression in a message; the steps show it whole."""


@dataclass(frozen=True)
class Sentence:
    """A statement with its expressions parsed."""

    statement: Statement
    cells: Sequence[Cell]
    values: Sequence[Node | None]
    holds: Sequence[Node]
    own: Scope | None


@dataclass(frozen=True)
class Outcome:
    """What one evaluation of a sentence gave."""

    good: bool
    gives: Sequence[str]
    context: Context


def read_sentences(claims: Claims, name: str) -> list[Sentence]:
    """Every statement, parsed. Raises ClaimsError for the first thing wrong."""
    if len(claims.statements) > MAX_STATEMENTS or len(claims.scopes) > MAX_SCOPES:
        raise ClaimsError(f"{name}: more than {MAX_STATEMENTS:,} statements or {MAX_SCOPES} scopes; split the file.")
    sets = {item.id: item for item in claims.sets}
    scopes = {scope.id: scope for scope in claims.scopes}
    seen: set[str] = set()
    sentences = []
    for statement in claims.statements:
        where = f"{name}, statement {statement.id!r}"
        if statement.id in seen:
            raise ClaimsError(f"{where}: the id came before; ids must be unique.")
        seen.add(statement.id)
        if statement.rows is not None and statement.rows not in scopes:
            raise ClaimsError(f"{where}: there is no scope {statement.rows!r}; declare it under [[scopes]].")
        if statement.says is not None and statement.parts:
            raise ClaimsError(f"{where} has both `says` and `parts`; keep one.")
        if statement.says is None and not statement.parts and not statement.holds:
            raise ClaimsError(f"{where} says nothing; give it `says`, `parts` or `holds`.")
        parts = _parts(statement)
        cells: list[Cell] = []
        values: list[Node | None] = []
        for index, part in enumerate(parts, start=1):
            if part.set is not None and part.set not in sets:
                raise ClaimsError(f"{where}: there is no question set {part.set!r}; declare it under [[sets]].")
            cells.append(
                read_cell(
                    part.says,
                    kind=part.kind or "number",
                    unit=part.unit,
                    rounding=claims.rounding,
                    question_set=sets.get(part.set) if part.set is not None else None,
                    id_=statement.id if statement.says is not None else f"{statement.id}#{index}",
                    place=where,
                    source=statement.source or claims.source,
                )
            )
            values.append(None if part.value is None else _parse(part.value, f"{where}, value"))
        holds = [_parse(text, f"{where}, holds") for text in statement.holds]
        own = scopes[statement.rows] if statement.rows is not None else None
        sentences.append(Sentence(statement, cells, values, holds, own))
    return sentences


def _parts(statement: Statement) -> list[Part]:
    if statement.says is None:
        return statement.parts
    return [
        Part(
            says=statement.says,
            value=statement.value,
            kind=statement.kind,
            set=statement.set,
            unit=statement.unit,
        )
    ]


def read_scopes(claims: Claims, grids: Sequence[Grid], name: str) -> dict[str, Restriction]:
    """The conditions of every scope. Raises ClaimsError where one fits no table."""
    found: dict[str, Restriction] = {}
    for scope in claims.scopes:
        where = f"{name}, scope {scope.id!r}"
        if scope.id in found:
            raise ClaimsError(f"{where}: the id came before; ids must be unique.")
        rule = restriction(_parse(scope.where, where))
        if not any(rule.names <= set(grid.kinds) for grid in grids):
            raise ClaimsError(
                f"{where}: no table has the column{'s' if len(rule.names) > 1 else ''} "
                f"{', '.join(map(repr, sorted(rule.names)))}; a scope is a condition on columns."
            )
        found[scope.id] = rule
    return found


def _parse(text: str, where: str) -> Node:
    try:
        return parse(text)
    except GrammarError as error:
        raise ClaimsError(f"{where}: the expression {text[:80]!r} {error}.") from None


def sentences_of(
    sentences: Sequence[Sentence], claims: Claims, rules: dict[str, Restriction], paper: Paper
) -> Iterator[Consistency]:
    """The findings of every sentence: its numbers by themselves, and against what they must equal."""
    for sentence in sentences:
        for cell in sentence.cells:
            if (found := granularity(cell)) is not None:
                yield found
        if any(value is not None for value in sentence.values) or sentence.holds:
            where = f"{paper.name}, statement {sentence.statement.id!r}"
            try:
                yield _check(sentence, claims, rules, paper)
            except ExpressionError as error:
                raise ClaimsError(f"{where}: an expression {error}.") from None
            except CannotDecideError as error:
                yield _finding(sentence, "undecided", f"cannot be checked: {error}.", [])


def _check(sentence: Sentence, claims: Claims, rules: dict[str, Restriction], paper: Paper) -> Consistency:
    own = [rules[sentence.own.id]] if sentence.own is not None else []
    # What holds for the narrowest intervals holds for all; only a failure asks how little it takes to see it.
    outcome = _evaluate(sentence, own, NARROWEST, paper)
    if not outcome.good:
        for level in LEVELS:
            outcome = _evaluate(sentence, own, level, paper)
            if not outcome.good:
                return _failure(sentence, outcome, level, claims, rules, paper)
    says = _says(sentence)
    return _finding(
        sentence,
        "consistent",
        f"{says} follows." if says else f"{'; '.join(sentence.statement.holds)}: possible.",
        outcome.context.trace,
        places=_places(sentence, outcome.context, paper),
    )


def _failure(
    sentence: Sentence, outcome: Outcome, level: Level, claims: Claims, rules: dict[str, Restriction], paper: Paper
) -> Consistency:
    standing, condition_ = because(level, outcome.context.cells)
    if sentence.statement.reading is not None:
        standing, condition_ = "conditional", f"the reading: {sentence.statement.reading}"
    elif any(approximate(cell.text) for cell in sentence.cells):
        standing, condition_ = "conditional", "about meaning within a fifth"
    rescues, tried = _rescues(sentence, outcome, level, claims, rules, paper)
    if not sentence.cells:
        return _finding(
            sentence,
            standing,
            f"cannot hold: {'; '.join(outcome.gives)}.",
            outcome.context.trace,
            condition=condition_,
            places=_places(sentence, outcome.context, paper),
            rescues=rescues,
            tried=tried,
        )
    among = "" if sentence.own is None else f" among {sentence.own.label or sentence.own.id}"
    tables = sorted(outcome.context.tables)
    if len(sentence.cells) > 1 and len(outcome.gives) == len(sentence.cells):
        gives = " / ".join(outcome.gives)
    else:
        gives = "; ".join(outcome.gives)
    whence = (
        f"{', '.join(tables)} gives" if len(tables) == 1 else f"{', '.join(tables)} give" if tables else "it would be"
    )
    return _finding(
        sentence,
        standing,
        f"{_says(sentence) or 'the condition'} does not follow: {whence} {gives}{among}.",
        outcome.context.trace,
        condition=condition_,
        places=_places(sentence, outcome.context, paper),
        rescues=rescues,
        tried=tried,
    )


def _evaluate(sentence: Sentence, scope: Sequence[Restriction], level: Level, paper: Paper) -> Outcome:
    context = paper.context(level, scope)
    good = True
    gives: list[str] = []
    for cell, node in zip(sentence.cells, sentence.values, strict=True):
        if node is None:
            gives.append(cell.text)
            continue
        value = number(node, context, None, None)
        target = cell.at(level)
        if target is None:
            raise CannotDecideError(f"{cell.place} prints nothing")
        context.cells[cell.id] = cell
        good = good and value.meets(target)
        gives.append(str(value))
    for node in sentence.holds:
        held = condition(node, context, None, None)
        good = good and held is not False
        if held is False:
            gives.append(f"{_shortened(unparse(node))} comes to {_sides(node, context)}")
            context.note(f"{unparse(node)} is impossible")
    return Outcome(good, gives, context)


def _shortened(expression: str) -> str:
    return expression if len(expression) <= MAX_SHOWN else f"{expression[: MAX_SHOWN - 2]} …"


def _sides(node: Node, context: Context) -> str:
    """A condition with the values of its two sides, where it compares numbers."""
    if isinstance(node, Call) and node.name in ("=", "!=", "<", "<=", ">", ">="):
        left, right = (evaluate(side, context, None, None) for side in node.arguments)
        return f"{left} {node.name} {right}"
    return unparse(node)


def _rescues(
    sentence: Sentence, failed: Outcome, level: Level, claims: Claims, rules: dict[str, Restriction], paper: Paper
) -> tuple[list[Rescue], int]:
    if not failed.context.tables:
        return [], 0
    own = [rules[sentence.own.id]] if sentence.own is not None else []
    found: list[Rescue] = []
    tried = 0
    for scope in claims.scopes:
        if scope is sentence.own:
            continue
        ways = [("within", [*own, rules[scope.id]])] + ([("instead", [rules[scope.id]])] if own else [])
        for kind, rule in ways:
            try:
                outcome = _evaluate(sentence, rule, level, paper)
            except (CannotDecideError, ExpressionError):
                continue
            if outcome.gives == failed.gives:
                continue  # these rows change nothing
            tried += 1
            if outcome.good:
                found.append(
                    Rescue(
                        scope=scope.id,
                        label=scope.label or scope.id,
                        kind="within" if kind == "within" else "instead",
                        values=list(outcome.gives),
                    )
                )
    return found, tried


def _says(sentence: Sentence) -> str:
    texts = [cell.text for cell in sentence.cells]
    return texts[0] if len(texts) == 1 else " / ".join(texts)


def _places(sentence: Sentence, context: Context, paper: Paper) -> list[Place]:
    places = [place(cell) for cell in sentence.cells]
    known = {item.id for item in places}
    places += [place(cell) for cell in list(context.cells.values())[:10] if cell.id not in known]
    places += [Place(id=name, text="", source=paper.grids[name].source) for name in sorted(context.tables)]
    return places


def _finding(
    sentence: Sentence,
    standing: Standing,
    message: str,
    steps: Sequence[str],
    *,
    condition: str | None = None,
    places: Sequence[Place] = (),
    rescues: Sequence[Rescue] = (),
    tried: int = 0,
) -> Consistency:
    statement = sentence.statement
    own = f"rows: {sentence.own.label or sentence.own.id} ({sentence.own.where})" if sentence.own is not None else None
    printed = [
        f"printed: {cell.text}, that is {cell.printed}" for cell in sentence.cells if isinstance(cell.printed, Interval)
    ]
    return Consistency(
        id=f"statement:{statement.id}",
        check="statement",
        subject=statement.id,
        standing=standing,
        message=message,
        condition=condition,
        places=list(places) or [place(cell) for cell in sentence.cells],
        rescues=list(rescues),
        tried=tried,
        steps=[*([own] if own else []), *steps, *printed],
    )
