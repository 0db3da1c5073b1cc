"""The statistics core: pure functions on plain arrays, from a pool of graded answers to an adjusted p-value.

One noun a module:

    pool            one question's K answers: classes, correctness, costs; tie rules, unparsed policies
    curve           the exact self-consistency curve, every N from one pass
                    (contest: who stands against whom; generating: the polynomials that count the wins)
    montecarlo      the same curve from a number of random draws, with its own standard error
    cost            what a record costs: tokens, latency, money, FLOPs
    interpolation   the curve read at a cost
    outcome         an interval, no interval, a claim beyond what the data can say
    bootstrap       resampling questions: weights, replicates, percentile and studentised intervals, p-values
    equalcost       a method against the curve at the method's own cost, re-estimated or fixed weights
    mcnemar         two ways of answering the same questions: discordant counts and their exact test
    multiplicity    Holm over declared families, Romano-Wolf over joint replicates
    sign            sign test and cluster sign test, sidedness stated
    precision       standard errors of paired differences, power, the smallest detectable effect
    control         one greedy answer against one sampled answer
    subset          complete cases and per-level splits
    tolerance       how far a stochastic claim may lie from our value by Monte-Carlo error alone

Nothing here reads a file, holds state, or imports any other part of the project. A generator of random
numbers is always passed in. Shapes are written (Q,) questions, (K,) pool, (S,) sample sizes, (C,)
comparisons, (B,) resamples. Accuracies are fractions in [0, 1], never percent.
"""
