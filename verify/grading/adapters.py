"""Other people's graders behind the same two arguments, for trials and for the benchmark.

Each imports its package on the first call, so that nothing here is needed to audit a release. They are
called as their own documentation calls them; what they are given, a response and a gold answer, is what they
are made for.
"""

from importlib import import_module
from typing import Any


def credited(result: Any) -> bool:
    """What a grader's return value says: a bool, a number, `"correct"`, or an object with a `verdict`."""
    verdict = getattr(result, "verdict", result)
    return verdict == "correct" if isinstance(verdict, str) else bool(verdict)


def math_verify(text: str, gold: str) -> bool:
    """Math-Verify with its defaults (`pip install 'generation-audit[peers]'`); its timeouts need the main
    thread.
    """
    package = import_module("math_verify")
    return bool(package.verify(package.parse(f"${gold}$"), package.parse(text)))


def lm_eval_hendrycks(text: str, gold: str) -> bool:
    """The `hendrycks_math` task of lm-evaluation-harness: last box or last dollars, then `is_equiv`."""
    task = import_module("lm_eval.tasks.hendrycks_math.utils")
    dollars = [at for at, sign in enumerate(text) if sign == "$"]
    answer = text if len(dollars) <= 1 else text[dollars[0] + 1 : dollars[-1]]
    box = task.last_boxed_only_string(text)
    if box is not None:
        answer = task.remove_boxed(box)
    return bool(task.is_equiv(answer, gold))


def lm_eval_minerva(text: str, gold: str) -> bool:
    """The `minerva_math` task of lm-evaluation-harness: the answer in its last box, normalised, equal as
    strings.
    """
    task = import_module("lm_eval.tasks.minerva_math.utils")
    box = task.last_boxed_only_string(text)
    answer = task.remove_boxed(box) if box is not None else task.get_unnormalized_answer(text)
    wanted = task.normalize_final_answer(gold)
    return bool(task.normalize_final_answer(answer) == wanted or task.is_equiv(answer, gold))
