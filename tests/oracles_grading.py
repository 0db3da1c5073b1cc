"""Slow and obvious counterparts of the grader's parts, written without looking at how the fast ones work."""

from fractions import Fraction


def last_box(text: str) -> str | None:
    """Content of the last closed, non-blank `\\boxed{…}`: every position tried, every brace walked.
    Quadratic.
    """
    for at in range(len(text) - 1, -1, -1):
        if not text.startswith("\\boxed", at):
            continue
        brace = at + len("\\boxed")
        while brace < len(text) and text[brace].isspace():
            brace += 1
        if brace >= len(text) or text[brace] != "{":
            continue
        depth, cursor = 0, brace
        while cursor < len(text):
            if text[cursor] == "\\":
                cursor += 2
                continue
            if text[cursor] == "{":
                depth += 1
            elif text[cursor] == "}":
                depth -= 1
                if depth == 0:
                    break
            cursor += 1
        else:
            continue
        if depth == 0 and cursor < len(text) and text[brace + 1 : cursor].strip():
            return text[brace + 1 : cursor]
    return None


def value(tree: tuple) -> Fraction:
    """Value of an expression tree `("+", a, b)`, `("frac", a, b)`, …, whose leaves are `("n", 5)`."""
    kind, *children = tree
    if kind == "n":
        return Fraction(children[0])
    first, *rest = (value(child) for child in children)
    if kind == "neg":
        return -first
    (second,) = rest
    return {"+": lambda: first + second, "-": lambda: first - second, "*": lambda: first * second,
            "frac": lambda: first / second, "/": lambda: first / second}[kind]()  # fmt: skip


def spelled(tree: tuple) -> str:
    """The tree as LaTeX, every operation in its own parentheses."""
    kind, *children = tree
    if kind == "n":
        return str(children[0])
    parts = [spelled(child) for child in children]
    if kind == "neg":
        return f"(-{parts[0]})"
    if kind == "frac":
        return rf"\frac{{{parts[0]}}}{{{parts[1]}}}"
    sign = {"+": "+", "-": "-", "*": r" \cdot ", "/": "/"}[kind]
    return f"({parts[0]}{sign}{parts[1]})"
