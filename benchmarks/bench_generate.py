"""Tokens a second through `audit generate` against a bare llama-cpp-python loop that makes the same calls.

Both load the model, and make 16 samples for each of 40 questions; the loop uses the library's own chat call and keeps
nothing. Runs alternate, so that a noisy machine disturbs both; ratios are of medians. Then memory: resident size after
the first quarter of a long run against its end.

    python benchmarks/bench_generate.py [--model FILE.gguf] [--rounds 5]
"""

import argparse
import gc
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

import llama_cpp

from generators.backends.call import Message
from generators.journal import read_records
from generators.methods import METHODS
from generators.plan import read_plan
from generators.prompts import load_prompts
from generators.runner import Options, generate
from schemas.plan import LlamaCpp

QUESTIONS, SAMPLES, CAP = 40, 16, 48


def plan_for(folder: Path, model: Path, questions: int) -> Path:
    (folder / "q.jsonl").write_text(
        "".join(
            f'{{"id": "q{i}", "text": "A crate holds {i} jars. How many?", "gold": "{i}"}}\n' for i in range(questions)
        )
    )
    plan = folder / "plan.toml"
    plan.write_text(
        f'format_version = "1.0"\ntitle = "bench"\ntoken_cap = {CAP}\n'
        f'[[models]]\nid = "m"\nllama_cpp = {{ file = "{model}", context_size = 1024 }}\n'
        '[[datasets]]\nid = "d"\nquestions = "q.jsonl"\npolicy = "gsm8k"\n'
        f'[[methods]]\nmethod = "self_consistency"\nparameters = {{ samples = {SAMPLES} }}\n'
    )
    return plan


def bare(model: Path, calls: list[tuple[list[dict[str, str]], int]]) -> tuple[int, float]:
    began = time.perf_counter()
    options = LlamaCpp(file=str(model), context_size=1024)
    llama = llama_cpp.Llama(
        str(model), n_ctx=1024, n_batch=options.batch_size, n_threads=1, n_threads_batch=1, verbose=False
    )
    tokens = 0
    for number, (messages, seed) in enumerate(calls):
        if number % SAMPLES == 0:
            llama.reset()
        answer = llama.create_chat_completion(
            messages, seed=seed, temperature=0.7, top_p=1.0, top_k=0, min_p=0.0, repeat_penalty=1.0, max_tokens=CAP
        )
        tokens += answer["usage"]["completion_tokens"]
    llama.close()
    return tokens, time.perf_counter() - began


def resident() -> int:
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model = arguments.model
        if model is None:
            from gguf_model import write_model

            model = write_model(folder / "random.gguf")
        model = model.absolute()
        study = read_plan(plan_for(folder, model, QUESTIONS))
        prompts = load_prompts()
        ours, theirs = [], []
        calls: list[tuple[list[dict[str, str]], int]] = []
        for number in range(arguments.rounds):
            out = folder / f"out{number}"
            began = time.perf_counter()
            made = generate(study, out, Options())
            ours.append(made.tokens / (time.perf_counter() - began))
            if not calls:
                questions = {item.id: item.text or "" for item in study.questions["d"]}
                for record in read_records(out / "generations/m/d/self_consistency/part-0.jsonl.gz"):
                    messages = [
                        Message("system", prompts.fill("system")),
                        Message("user", prompts.fill("solve", question=questions[record.question_id])),
                    ]
                    said = [{"role": m.role, "content": m.content} for m in messages]
                    calls += [(said, generation.seed or 0) for generation in record.generations]
                assert len(calls) == QUESTIONS * METHODS["self_consistency"].parameters["samples"]
            tokens, seconds = bare(model, calls)
            theirs.append(tokens / seconds)
            # Bytes that form no character let the library run past its cap; both counts are shown.
            print(
                f"round {number}: {made.tokens:,} tokens at {ours[-1]:,.0f}/s, bare {tokens:,} at {theirs[-1]:,.0f}/s"
            )
        ratios = sorted(a / b for a, b in zip(ours, theirs, strict=True))
        ratio = statistics.median(ours) / statistics.median(theirs)
        print(f"ratio of medians {ratio:.3f}; by round {', '.join(f'{value:.3f}' for value in ratios)}")

        long = read_plan(plan_for(folder, model, 4 * QUESTIONS))
        seen: list[int] = []
        generate(
            long,
            folder / "long",
            Options(),
            progress=lambda done, _: seen.append(resident()) if done % 40 == 0 else None,
        )
        print("resident MiB after each quarter:", ", ".join(f"{size / 2**20:.1f}" for size in seen))


if __name__ == "__main__":
    main()
