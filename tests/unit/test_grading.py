"""What the grader says on single answers. Every expectation is mathematics or LaTeX, decided by hand."""

import msgspec
import pytest

from schemas.errors import UsageError
from verify.grading import POLICIES, Grade, Grader, compile_policy, grade

EQUAL = r"""
x=5 | 5
\frac{\pi}{6} | \pi/6
-\frac{\pi}{6} | \frac{-\pi}{6}
(11+9a)/20 | \frac{11+9a}{20}
\textbf{(C)} | C
\left\{1,2\right\} | \{2,1\}
2\sqrt 5 | 2\sqrt{5}
\sqrt[3]{8} | 2
\sqrt[3]{-27} | -3
\sqrt[4]{\frac{16}{81}} | \frac23
2\sqrt[3]{8} | 4
8^{1/3} | 2
\sqrt\frac12 | \sqrt{\frac{1}{2}}
\frac{\sqrt3}3 | \dfrac{\sqrt{3}}{3}
50 \% | 50
36 \text{ dollars} | \$36
864\text{ in}^2 | 864 \mbox{ square inches}
9.8 \text{ m/s}^2 | 9.8\ \mathrm{m/s^2}
20^\circ C | 20^\circ\text{C}
x \in [-2,7] | [-2,7]
(5,\infty) | (5,+\infty)
(-\infty,2)\cup(3,\infty) | (3,\infty)\cup(-\infty,2)
\left(\begin{array}{c}1\\2\end{array}\right) | \begin{pmatrix}1\\2\end{pmatrix}
137 \frac{1}{2} | 137.5
11,\! 111,\! 100 | 11111100
10\,080 | 10080
x=1 \text{ or } x=2 | 1, 2
5 \text{ million} | 5000000
k>=2 | k \geqslant 2
y = 2x+1 | f(x) = 2x+1
\text{infinity} | \infty
\mathrm{sin}\,x | \sin{x}
x² | x^2
−５ | -5
½ | 0.5
x_\text{max} | x_{\text{max}}
\overline{AB} | \overline{ AB }
5\text{ ft } 6\text{ in} | 5\text{ feet }6\text{ inches}
"""

UNEQUAL = r"""
(2,5) | [2,5)
3,5,7 | 357
12,34 | 1234
(1,234) | 1234
A\leftarrow B | A\rightarrow B
\sqrt[3]{2} | \sqrt{2}
\sqrt[3]{9} | 3
\sqrt[4]{-16} | 2
\sqrt[3]{8} | \sqrt{8}
\sqrt[3]{2} | 3\sqrt{2}
5\text{ cm} | 5\text{ m}
20^\circ C | 20^\circ F
x=5 | y=5
x=2, y=3 | x=3, y=2
12 | 1 2
2a | 2
5xyz | 5
5 \text{ million} | 5
\text{at least }5 | 5
5\text{ or more} | 5
n\text{ odd} | n\text{ even}
\begin{vmatrix}1&2\\3&4\end{vmatrix} | \begin{pmatrix}1&2\\3&4\end{pmatrix}
ABC | abc
\overline{AB} | AB
\{0\} | 0
1/2x | \frac{1}{2x}
{a+b}^2 | (a+b)^2
\sqrt(2)3 | \sqrt{23}
x \neq 3 | x = 3
2^{53}+1 | 2^{53}
1/0 | 0
0.0000672 | 0.0000675
f^{\circ} | f\circ
"""


def _pairs(table: str) -> list[list[str]]:
    return [line.split(" | ") for line in table.strip().splitlines()]


@pytest.mark.parametrize(("one", "other"), _pairs(EQUAL))
def test_equal(one: str, other: str) -> None:
    grader = compile_policy("math")
    assert grader.matches(one, other)
    assert grader.normal_form(one) == grader.normal_form(other)


@pytest.mark.parametrize(("one", "other"), _pairs(UNEQUAL))
def test_unequal(one: str, other: str) -> None:
    assert not compile_policy("math").matches(one, other)


@pytest.mark.parametrize(
    ("text", "answer", "rule"),
    [
        (r"the answer is $\frac{7}{12}$ because it is.", r"\frac{7}{12}", "phrase"),
        ("The answer is: \n\n\\[ x = 5 \\]", "x = 5", "phrase"),
        ("The answer is $3$ and $5$.", "$3$ and $5$", "phrase"),
        ("THE FINAL ANSWER\nIS **-5**.", "-5", "phrase"),
        ("Ответ İ: the answer is 5.", "5", "phrase"),
        ("We get 1,234.50.", "1,234.50", "last-number"),
        ("so 10-3", "3", "last-number"),
        ("so it is -$5", "-$5", "last-number"),
        ("- 5 apples", "5", "last-number"),
        ("x = - 5", "- 5", "last-number"),
        ("wait...5", "5", "last-number"),
        ("it is $\\frac{7}{12}$.", r"\frac{7}{12}", "last-number"),
        ("about 7 3/4 cups", "7 3/4", "last-number"),
        (r"\boxed{1} then \boxed{2", "1", "boxed"),
        (r"\boxed{\text{a } \} b}", r"\text{a } \} b", "boxed"),
        ("\\boxedfoo{3} 7", "7", "last-number"),
    ],
)
def test_extraction(text: str, answer: str, rule: str) -> None:
    found = compile_policy("math").extract(text)
    assert found is not None
    assert (found.answer, found.rule, text[slice(*found.span)]) == (answer, rule, answer)


@pytest.mark.parametrize(
    ("text", "gold", "verdict"),
    [
        ("The answer is 5 + 4 = 9.", "9", "correct"),
        ("The answer is that she has 7 apples and 3 pears", "7", "correct"),
        (r"\boxed{\text{Janet makes } 18 \text{ dollars}}", "18", "correct"),
        (r"\boxed{18 \, \text{hours} = 1080 \text{ minutes}}", "1080", "correct"),
        (r"\boxed{x^2}", "2", "incorrect"),
        (r"\boxed{2x}", "2", "incorrect"),
        (r"\boxed{\sqrt{2}}", "2", "incorrect"),
        (r"\boxed{5 \text{ million}}", "5", "incorrect"),
        (r"\boxed{\text{half of } 4}", "4", "incorrect"),
        (r"\boxed{12:30}", "12", "incorrect"),
        (r"\boxed{3,5}", "35", "incorrect"),
        (r"\boxed{nan}", "nan", "correct"),  # a gold that says nan is damaged, but nan is what it says
        ("There is no number.", "5", "unparsed"),
        (r"\boxed{18}", "A long solution. #### 18", "correct"),
    ],
)
def test_word_problems(text: str, gold: str, verdict: str) -> None:
    assert grade(text, gold, policy="gsm8k").verdict == verdict


def test_eta_does_what_the_paper_says_and_no_more() -> None:
    grader = compile_policy("ror")
    assert grader.matches(r" {3.500}", "3.5")
    assert grader.matches(r"2\,X\;+\!1", "2x+1")
    assert not grader.matches(r"{{5}}", "5")  # one layer
    assert not grader.matches(r"\dfrac{1}{2}", r"\frac{1}{2}")
    assert not grader.matches("100", "1")


def test_percent_as_ratio_and_relative_tolerance_are_options() -> None:
    math = POLICIES["math"]
    percent = Grader(msgspec.structs.replace(math, percent_as_ratio=True))
    loose = Grader(msgspec.structs.replace(math, rel_tol=1e-4))
    for answer in ("50", "0.5", "5000"):
        assert percent.matches(answer, "50")
        assert compile_policy(math).matches(answer, "50") == (answer == "50")
    assert loose.matches("10001", "10000")
    assert not compile_policy("math").matches("10001", "10000")
    assert not loose.matches("10003", "10000")


@pytest.mark.parametrize(
    ("gold", "reason"),
    [
        ("", "is empty"),
        ("  ", "is empty"),
        ("None", "missing value"),
        ("NaN", "missing value"),
        (r"\frac{1}{2", "unbalanced"),
        ("}{", "unbalanced"),
    ],
)
def test_damaged_golds(gold: str, reason: str) -> None:
    assert reason in (compile_policy("math").usable_gold(gold) or "")


def test_a_gold_of_word_problems_is_a_number() -> None:
    assert compile_policy("gsm8k").usable_gold("many") == "is not a number"
    assert compile_policy("gsm8k").usable_gold("#### 1,234") is None
    assert compile_policy("math").usable_gold(r"\{1,2\}") is None


def test_unparsed_has_no_answer_and_unknown_policies_are_named() -> None:
    assert grade("nothing", "5") == Grade("unparsed", None, None, None)
    with pytest.raises(UsageError, match="gsm8k, math, ror, smrl"):
        grade("5", "5", policy="guess")
    with pytest.raises(UsageError, match="negative"):
        Grader(msgspec.structs.replace(POLICIES["math"], abs_tol="-1"))
