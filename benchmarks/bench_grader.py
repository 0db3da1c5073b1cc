"""The grader against its peers: speed on one core, memory, and accuracy on reported cases. Run by `make
bench-grader`.

Prints ratios, because seconds on a shared machine say little: ours against reading the same Parquet file
into Python strings, and against each peer on the same responses. The accuracy table needs the public cases
(GENERATION_AUDIT_DATA).
"""

import argparse
import json
import logging
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from verify.grading import compile_policy
from verify.grading.adapters import lm_eval_hendrycks, lm_eval_minerva, math_verify
from verify.grading.bulk import BATCH_ROWS, grade_parquet
from verify.grading.properties import SAMPLE_GOLDS

LENGTH = 1200
QUESTIONS = 500
SENTENCES = (
    "We split the sum into its even and odd terms and look at each of them alone. ",
    r"Since $a_{n+1} = \frac{a_n}{2} + 3$ for every $n$, the sequence settles down. ",
    "That leaves 12 of the 48 cases, and each of those is counted twice. ",
    r"By symmetry the other factor is \(\sqrt{x^2 + 1}\), which is never zero. ",
    "Adding the 3 parts gives the total that the question asks about. ",
)
Grader = Callable[[str, str], bool]


def responses(count: int, seed: int) -> tuple[list[str], list[str]]:
    """`count` responses of 1,200 characters that end in a box, and their golds; six in ten hold the gold."""
    rng = random.Random(seed)
    golds = [SAMPLE_GOLDS[n % len(SAMPLE_GOLDS)] if n % 3 else str(7 * n) for n in range(QUESTIONS)]
    prose = ["".join(rng.choices(SENTENCES, k=LENGTH // 60)) for _ in range(1000)]
    texts, wanted = [], []
    for row in range(count):
        at = row % QUESTIONS
        answer = golds[at] if rng.random() < 0.6 else golds[(at + rng.randrange(1, 6)) % QUESTIONS]
        end = f"Thus the result is $\\boxed{{{answer}}}$."
        texts.append(rng.choice(prose)[: LENGTH - len(end)] + end)
        wanted.append(golds[at])
    return texts, wanted


def write_parquet(path: Path, count: int) -> None:
    """The responses as a file of ordinary row groups."""
    schema = pa.schema({"text": pa.string(), "gold": pa.string()})
    with pq.ParquetWriter(path, schema) as writer:
        for start in range(0, count, 20_000):
            texts, golds = responses(min(20_000, count - start), seed=start)
            writer.write_table(pa.table({"text": texts, "gold": golds}, schema=schema))


def seconds(work: Callable[[], object]) -> float:
    """Processor seconds of one run."""
    began = time.process_time()
    work()
    return time.process_time() - began


def read_strings(path: Path) -> int:
    """What any Python grader pays first: both columns as Python strings."""
    with pq.ParquetFile(path) as file:
        batches = file.iter_batches(batch_size=BATCH_ROWS, columns=["text", "gold"])
        return sum(len(batch.column("text").to_pylist()) + len(batch.column("gold").to_pylist()) for batch in batches)


def grade_file(path: Path) -> int:
    """Rows of the file credited by the bulk path."""
    return sum(batch.correct for batch in grade_parquet(path))


def peak_megabytes(path: Path) -> int:
    """Peak resident memory of a fresh process that grades the file."""
    code = (
        "import sys; from verify.grading.bulk import grade_parquet;"
        "sum(b.correct for b in grade_parquet(sys.argv[1]));"
        # Not getrusage, whose maximum a child inherits from the process that started it.
        "print([int(l.split()[1]) for l in open('/proc/self/status') if l.startswith('VmHWM')][0] // 1024)"
    )
    return int(
        subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True).stdout
    )


def peers() -> dict[str, Grader]:
    """The graders that are installed, ours first."""
    found: dict[str, Grader] = {
        "ours": lambda text, gold: compile_policy("math").grade(text, gold).verdict == "correct"
    }
    wanted: dict[str, tuple[str, Grader]] = {
        "Math-Verify": ("math_verify", math_verify),
        "lm-eval hendrycks": ("lm_eval.tasks.hendrycks_math.utils", lm_eval_hendrycks),
        "lm-eval minerva": ("lm_eval.tasks.minerva_math.utils", lm_eval_minerva),
    }
    for name, (module, grader) in wanted.items():
        try:
            import_module(module)
        except (ImportError, AssertionError) as error:
            print(f"{name} is left out: {str(error).splitlines()[0]}")
        else:
            found[name] = grader
    return found


def speed(count: int, graders: dict[str, Grader]) -> None:
    """Print the ratios."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "responses.parquet"
        write_parquet(path, count)
        grade_file(path), read_strings(path)  # imports and caches of both
        pairs = [(seconds(lambda: grade_file(path)), seconds(lambda: read_strings(path))) for _ in range(5)]
        ours = count / statistics.median(grade for grade, _ in pairs)
        print(f"\nstreaming Parquet, {count:,} responses of {LENGTH:,} characters, one core:")
        print(f"  graded                   {ours:12,.0f} responses/s   (bar: 100,000)")
        ratio = statistics.median(read / grade for grade, read in pairs)
        print(f"  against reading strings  {ratio:12.2f}               (bar: 0.67)")
        print(f"  peak memory              {peak_megabytes(path):9d} MB               (bar: 300)")
    texts, golds = responses(4000, seed=1)
    print("\nrecord by record, the same responses:")
    for name, grader in graders.items():
        rows = range(100 if name == "Math-Verify" else 1000)
        rate = len(rows) / seconds(lambda rows=rows, grader=grader: [grader(texts[at], golds[at]) for at in rows])
        print(f"  {name:20} {rate:12,.0f} responses/s   the stream is {ours / rate:10,.1f} times as fast")


def accuracy(graders: dict[str, Grader]) -> None:
    """Print how many of the scored cases each grader decides as a reader would."""
    default = Path(__file__).parents[2] / "shared" / "data"
    path = Path(os.environ.get("GENERATION_AUDIT_DATA", default)) / ".." / "grader" / "cases.jsonl"
    if not path.exists():
        print(f"\nno accuracy table: {path} is not here")
        return
    cases = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    scored = [case for case in cases if case["expected"] != "policy"]
    kinds = sorted({case["kind"] for case in scored})
    print(f"\n{'accuracy on reported cases':28}" + "".join(f"{kind:>16}" for kind in kinds) + f"{'all':>12}")
    for name, grader in graders.items():
        right = dict.fromkeys(kinds, 0)
        for case in scored:
            right[case["kind"]] += _decides(name, grader, case)
        cells = "".join(f"{right[kind]:>9} / {sum(c['kind'] == kind for c in scored):<4}" for kind in kinds)
        print(f"  {name:26}{cells}{sum(right.values()):>6} / {len(scored)}")


def _decides(name: str, grader: Grader, case: dict) -> bool:
    try:
        if name == "ours":
            credited = compile_policy(case["dataset_style"]).grade(case["response"], case["gold"]).verdict == "correct"
        else:
            credited = grader(case["response"], case["gold"])
    except Exception:  # noqa: BLE001 - a peer that raises has not decided the case
        return False
    return credited == (case["expected"] is True)


def main() -> None:
    """Parse the command line and print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=200_000, help="responses in the Parquet file")
    rows = parser.parse_args().rows
    # One core for everybody: Arrow would use all of them otherwise. The peers log every failed parse.
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    logging.disable(logging.CRITICAL)
    graders = peers()
    speed(rows, graders)
    accuracy(graders)


if __name__ == "__main__":
    main()
