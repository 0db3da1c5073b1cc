"""`audit verify` on a planted release of SMRL's size against reading and parsing it: one run, medians, ratios."""

import random
import resource
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from generators.planted import Plan, PlantedModel, plant
from schemas.reading import Limits, read_lines
from schemas.record import Record
from verify import verify_release

# Three models, two datasets, 150 questions: 49,500 texts, more than the 27,300 that SMRL stores.
PLAN = Plan(
    models=tuple(PlantedModel(id=f"m{i}", ability=0.4 + 0.15 * i, judgement=0.3 + 0.2 * i) for i in range(3)),
    questions=150,
)
ROUNDS = 5


def median(call: Callable[[], object]) -> float:
    times = []
    for _ in range(ROUNDS):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return statistics.median(times)


def parse(root: Path) -> int:
    limits = Limits()
    return sum(
        len(line.value.generations)  # type: ignore[union-attr]
        for path in sorted((root / "generations").rglob("part-*"))
        for line in read_lines(path, Record, limits=limits)
    )


def main() -> None:
    for suffix in (".jsonl", ".jsonl.gz", ".parquet"):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder) / "r"
            plan = Plan(models=PLAN.models, questions=PLAN.questions, suffixes=(suffix,))
            plant(root, plan, rng=random.Random(1))
            texts = parse(root)
            floor = median(lambda root=root: parse(root))  # type: ignore[misc]
            whole = median(lambda root=root: verify_release(root))  # type: ignore[misc]
            print(f"{suffix:10} {texts:,} texts: verify / parse = {whole / floor:.2f}  ({texts / whole:,.0f} texts/s)")
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB")


if __name__ == "__main__":
    main()
