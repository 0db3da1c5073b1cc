"""What the normal form knows about LaTeX: names that mean the same, names that only look, names that take arguments."""

_SPACES = ("!", ",", ";", ":", ">", " ", "\n", "\t", "/", "(", ")", "[", "]")
_INVISIBLE_WORDS = (
    "displaystyle textstyle scriptstyle quad qquad limits nolimits big Big bigg Bigg bigl Bigl biggl Biggl bigr Bigr "
    "biggr Biggr bigm middle left right rm bf it sf tt cal mathstrut strut thinspace medspace thickspace negthinspace "
    "enspace hfill nonumber hline large Large normalsize small left. right. ensuremath"
)
#: Control sequences that change how an answer looks, not what it says.
INVISIBLE = frozenset(_INVISIBLE_WORDS.split()) | frozenset(_SPACES)

#: Delimiters such as `\left.` are invisible together with the full stop behind them.
SIZED = frozenset("left right big Big bigg Bigg bigl bigr Bigl Bigr biggl biggr Biggl Biggr middle bigm".split())

#: Commands whose argument is read as if the command were not there.
FONTS = frozenset(
    "mathrm mathbf mathit mathsf mathtt mathnormal boldsymbol bm pmb mathord mathop mathbin "
    "boxed fbox ensuremath displaylimits".split()
)
#: The same, and what is inside is words rather than a product of letters.
TEXT = frozenset("text mbox hbox textbf textit textrm textsf texttt textnormal textup emph operatorname mathrm".split())

#: Commands whose argument is thrown away.
DISCARDED = frozenset("hspace vspace phantom hphantom vphantom label tag color textcolor mspace kern".split())

#: How many arguments a command takes; an unknown command keeps whatever groups follow it.
ARGUMENTS = {"frac": 2, "binom": 2, "sqrt": 1, "overset": 2, "underset": 2, "stackrel": 2} | dict.fromkeys(
    "overline underline overrightarrow overleftarrow widehat widetilde hat bar vec dot ddot tilde mathbb mathcal "
    "mathfrak mathscr pmod bmod overbrace underbrace cancel not".split(),
    1,
)

#: Names of the same thing. The value is the name that the normal form writes.
SAME = {
    "dfrac": "frac", "tfrac": "frac", "cfrac": "frac", "dbinom": "binom", "tbinom": "binom",
    "leq": "le", "leqslant": "le", "leqq": "le", "geq": "ge", "geqslant": "ge", "geqq": "ge", "neq": "ne",
    "to": "rightarrow", "longrightarrow": "rightarrow", "gets": "leftarrow", "longleftarrow": "leftarrow",
    "implies": "Rightarrow", "Longrightarrow": "Rightarrow", "iff": "Leftrightarrow", "Longleftrightarrow": "Leftrightarrow",
    "land": "wedge", "lor": "vee", "lnot": "neg", "varnothing": "emptyset", "backslash": "setminus", "infin": "infty",
    "owns": "ni", "ldots": "dots", "cdots": "dots", "dotsc": "dots", "dotsb": "dots", "hdots": "dots",
    "cdotp": "cdot", "varepsilon": "epsilon", "varphi": "phi", "vartheta": "theta", "R": "mathbb{R}", "reals": "mathbb{R}",
    "Z": "mathbb{Z}", "N": "mathbb{N}", "Q": "mathbb{Q}", "C": "mathbb{C}", "degrees": "degree", "textdegree": "degree",
    "textdollar": "$", "overrightarrow": "vec", "mod": "bmod",
}  # fmt: skip

#: Names that stand for one plain character.
CHARACTERS = {
    "lt": "<", "gt": ">", "colon": ":", "ast": "*", "vert": "|", "lvert": "|", "rvert": "|", "mid": "|", "lbrack": "[",
    "rbrack": "]", "lparen": "(", "rparen": ")", "prime": "'", "{": "\\{", "}": "\\}", "lbrace": "\\{", "rbrace": "\\}",
    "%": "%", "$": "\\$", "_": "", "&": "and", "#": "#", "dollar": "\\$", "percent": "%", "|": "\\|", "Vert": "\\|",
    "lVert": "\\|", "rVert": "\\|", "textbackslash": "\\setminus", "euro": "\\$", "pounds": "\\$", "comma": ",",
}  # fmt: skip

#: Characters outside ASCII, as the tokens that they stand for.
UNICODE = {
    "−": "-", "﹣": "-", "－": "-", "–": "-", "‒": "-", "×": "\\times", "÷": "\\div", "·": "\\cdot", "⋅": "\\cdot",
    "∙": "\\cdot", "≤": "\\le", "⩽": "\\le", "≥": "\\ge", "⩾": "\\ge", "≠": "\\ne", "π": "\\pi", "∞": "\\infty",
    "√": "\\sqrt", "∪": "\\cup", "∩": "\\cap", "∈": "\\in", "±": "\\pm", "∓": "\\mp", "→": "\\rightarrow",
    "←": "\\leftarrow", "∅": "\\emptyset", "°": "\\degree", "º": "\\degree", "θ": "\\theta", "α": "\\alpha",
    "β": "\\beta", "γ": "\\gamma", "φ": "\\phi", "λ": "\\lambda", "μ": "\\mu", "ω": "\\omega", "∠": "\\angle",
    "△": "\\triangle", "≈": "\\approx", "≡": "\\equiv", "′": "'", "’": "'", "ℝ": "\\mathbb{R}", "€": "\\$", "£": "\\$",
    "¥": "\\$", "…": "\\dots", "，": ",", "（": "(", "）": ")", "％": "%", "＝": "=", "＋": "+", "＜": "<", "＞": ">",
    "∖": "\\setminus", "⌊": "\\lfloor", "⌋": "\\rfloor", "⌈": "\\lceil", "⌉": "\\rceil", "：": ":", "／": "/",
}  # fmt: skip
#: A few characters are a whole fraction, or an exponent.
VULGAR = {
    "½": ("1", "2"),
    "⅓": ("1", "3"),
    "⅔": ("2", "3"),
    "¼": ("1", "4"),
    "¾": ("3", "4"),
    "⅕": ("1", "5"),
    "⅛": ("1", "8"),
}
RAISED = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789", strict=True)) | {
    "⁻": "-",
    "⁺": "+",
    "ⁿ": "n",
}
LOWERED = dict(zip("₀₁₂₃₄₅₆₇₈₉", "0123456789", strict=True))

#: Words typed without a backslash that can only be a symbol.
PLAIN_WORDS = {"pi": "\\pi", "sqrt": "\\sqrt", "infinity": "\\infty", "infty": "\\infty", "frac": "\\frac"}

#: Function names, however they are set: `\\sin`, `\\mathrm{sin}` and `sin` are one.
FUNCTIONS = frozenset(
    "sin cos tan cot sec csc sinh cosh tanh arcsin arccos arctan log ln exp lim max min gcd lcm det arg deg dim ker".split()
)
#: Words that only introduce a value.
LABELS = frozenset("the final answer is are ans so thus value equals solution".split())

_UNITS = {
    "cm": "cm centimeter centimeters centimetre centimetres", "mm": "mm millimeter millimeters millimetre millimetres",
    "m": "m meter meters metre metres", "km": "km kilometer kilometers kilometre kilometres",
    "in": "in inch inches", "ft": "ft foot feet", "yd": "yd yard yards", "mi": "mi mile miles",
    "g": "g gram grams", "kg": "kg kilogram kilograms kgs", "mg": "mg milligram milligrams", "lb": "lb lbs pound pounds",
    "oz": "oz ounce ounces", "s": "s sec secs second seconds", "min": "min mins minute minutes",
    "h": "h hr hrs hour hours", "day": "day days", "week": "week weeks wk", "month": "month months",
    "year": "year years yr yrs", "l": "l liter liters litre litres", "ml": "ml milliliter milliliters",
    "gal": "gal gallon gallons", "qt": "qt quart quarts", "cup": "cup cups", "cent": "cent cents ¢",
    "dollar": "dollar dollars usd bucks", "euro": "euro euros eur", "percent": "percent percents pct",
    "degree": "degree degrees deg", "radian": "radian radians rad", "mph": "mph", "kph": "kph kmh", "unit": "",
}  # fmt: skip
#: Canonical name of every unit that the grader can tell from another.
UNITS = {word: unit for unit, words in _UNITS.items() for word in words.split()}
#: Units and nouns that may be typed as bare letters: too unlike a product of variables to be one.
_BARE_UNITS = {word for word in UNITS if len(word) > 1} - set("in ms mg mi min deg rad sec day".split())
BARE_WORDS = frozenset(_BARE_UNITS) | frozenset(
    "thousand million billion trillion apples books boxes coins days dollars eggs games hours items marbles miles minutes numbers pages people pencils points "
    "pounds seconds solutions students tickets times toys triangles units values ways weeks words years cookies cars".split()
)

#: Words that change the value or the meaning of the number beside them: never a unit.
MEANINGFUL = frozenset(
    "or and more less not no least most mod modulo even odd positive negative minus plus if when where for all none am pm "
    "north south east west left right up down hundred dozen half quarter third thirds halves tenths over under above below "
    "than about between exclusive inclusive true false yes point base undefined infinity infinite times to of the choose "
    "hundredths thousandths hundreds thousands factorial squared cubed root".split()
)
#: Words that multiply the number before them.
SCALES = {"thousand": 3, "million": 6, "billion": 9, "trillion": 12}

#: `\begin{…}` environments by what their brackets mean.
MATRICES = {
    "matrix": "", "pmatrix": "(", "bmatrix": "[", "Bmatrix": "{", "smallmatrix": "", "psmallmatrix": "(",
    "bsmallmatrix": "[", "array": "", "vmatrix": "|", "Vmatrix": "‖",
}  # fmt: skip
