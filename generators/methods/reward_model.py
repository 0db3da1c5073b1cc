"""RM@N: samples, and a reward model's highest score decides (ROR 4.2).

The samples are made here; the scores come from `--reward-command` or `--reward-file`, never from the plan's word.
"""

from dataclasses import replace

from generators.methods import self_consistency

METHOD = replace(
    self_consistency.METHOD,
    name="reward_model",
    summary="RM@N: samples, and a reward model's highest score decides",
    decision_rule="highest-score",
    parameters={"samples": 8},
    pool=False,
    scored=True,
)
