"""llama.cpp in process, on a real model file of random weights: what a text depends on, and what is refused."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from gguf_model import TEMPLATE, write_model
from support import ROOT

from generators.backends.call import Call, CallError, Message
from generators.backends.llama_cpp import LlamaCppBackend, _log_softmax, _piece
from schemas.errors import UsageError
from schemas.plan import LlamaCpp, PlanSampling

pytestmark = pytest.mark.llama

ASKED = (Message("system", "Be brief."), Message("user", "What is 2 + 3?"))


def call(seed: int = 1, temperature: float = 0.7, cap: int = 40, **fields: object) -> Call:
    given = {"messages": ASKED, "sampling": PlanSampling(), **fields}
    return Call(temperature=temperature, seed=seed, token_cap=cap, **given)  # type: ignore[arg-type]


def opened(model: Path, **options: int) -> LlamaCppBackend:
    return LlamaCppBackend(LlamaCpp(file=str(model), **{"context_size": 512, **options}))


@pytest.fixture
def backend(model: Path) -> LlamaCppBackend:
    return opened(model)


def texts(backend: LlamaCppBackend, seeds: range = range(6)) -> list[str]:
    found = []
    for seed in seeds:
        backend.begin()
        found.append(backend.complete(call(seed)).text)
    return found


def test_the_same_call_gives_the_same_text_after_a_reset(backend: LlamaCppBackend) -> None:
    first = texts(backend)
    assert len(set(first)) == 6
    assert texts(backend) == first


def test_another_order_of_records_changes_nothing(backend: LlamaCppBackend) -> None:
    forward = texts(backend)
    backward = []
    for seed in reversed(range(6)):
        backend.begin()
        backward.append(backend.complete(call(seed)).text)
    assert backward[::-1] == forward


@pytest.mark.parametrize("options", [{"threads": 2}, {"batch_size": 16}, {"context_size": 1024}])
def test_threads_batch_and_context_change_no_text(model: Path, options: dict[str, int]) -> None:
    assert texts(opened(model, **options)) == texts(opened(model))


def test_a_fresh_process_gives_the_same_texts(model: Path, backend: LlamaCppBackend) -> None:
    program = (
        "import sys; sys.path.insert(0, 'tests'); sys.path.insert(0, 'tests/llama')\n"
        "from pathlib import Path; from test_llama_cpp import opened, texts\n"
        "print(ascii(texts(opened(Path(sys.argv[1])))))"
    )
    done = subprocess.run([sys.executable, "-c", program, model], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == ascii(texts(backend))


def test_counts_are_those_of_the_library(backend: LlamaCppBackend) -> None:
    """Against the library's own chat call with the same values: text, counts, reason."""
    for seed in range(6):
        backend.begin()
        ours = backend.complete(call(seed))
        backend.begin()
        theirs = backend.model.create_chat_completion(
            [{"role": message.role, "content": message.content} for message in ASKED],
            seed=seed,
            temperature=0.7,
            top_p=1.0,
            top_k=0,
            min_p=0.0,
            repeat_penalty=1.0,
            max_tokens=40,
        )
        choice, usage = theirs["choices"][0], theirs["usage"]
        assert ours.text == choice["message"]["content"]
        assert ours.finish_reason == choice["finish_reason"]
        assert (ours.prompt_tokens, ours.completion_tokens) == (usage["prompt_tokens"], usage["completion_tokens"])


def test_pieces_join_to_the_text_and_their_logprobs_are_the_models(backend: LlamaCppBackend) -> None:
    backend.begin()
    found = backend.complete(call(temperature=0.0, tokens=True))
    assert "".join(token.text for token in found.tokens) == found.text
    assert len(found.tokens) == found.completion_tokens
    prompt = backend.model.tokenize(backend.render(ASKED).encode(), add_bos=False, special=True)
    backend.begin()
    backend.model.eval(prompt)
    expected = _log_softmax(backend._logits())
    assert found.tokens[0].logprob == pytest.approx(expected.max(), abs=1e-6)
    assert sum(np.exp(expected)) == pytest.approx(1)


def test_a_prefix_is_where_the_answer_goes_on(backend: LlamaCppBackend) -> None:
    backend.begin()
    whole = backend.complete(call(temperature=0.0, cap=12))
    first = whole.text[:4]
    backend.begin()
    rest = backend.complete(call(temperature=0.0, cap=12 - len(first.encode()), prefix=first))
    assert first + rest.text == whole.text


def test_beam_search_finds_what_plain_evaluation_finds(backend: LlamaCppBackend) -> None:
    """The oracle evaluates every beam from its first token on, without sharing any state between beams."""
    width, length = 3, 6
    model, library = backend.model, backend.library
    prompt = model.tokenize(backend.render(ASKED).encode(), add_bos=False, special=True)

    def logprobs(tokens: list[int]) -> np.ndarray:  # type: ignore[type-arg]
        model.reset()
        model.eval([*prompt, *tokens])
        return _log_softmax(backend._logits())

    live: list[tuple[float, list[int]]] = [(0.0, [])]
    ended: list[tuple[float, list[int]]] = []
    for _ in range(length):
        options = []
        for total, tokens in live:
            row = logprobs(tokens)
            options += [(total + float(row[token]), [*tokens, int(token)]) for token in np.argsort(-row)[: 2 * width]]
        options.sort(key=lambda item: -item[0])
        live = []
        for total, tokens in options:
            if len(live) == width:
                break
            if library.llama_vocab_is_eog(model._model.vocab, tokens[-1]):
                ended.append((total, tokens[:-1]))
            else:
                live.append((total, tokens))
    expected = {b"".join(_piece(library, model, t) for t in tokens).decode("utf-8", "ignore") for _, tokens in live}
    found = backend.beam_search(call(temperature=0.0, cap=length), width)
    unfinished = {completion.text for completion in found if completion.finish_reason == "length"}
    assert unfinished <= expected
    assert len(found) == width
    best = max(live)
    totals = {completion.text: sum(token.logprob for token in completion.tokens) for completion in found}
    text = b"".join(_piece(library, model, t) for t in best[1]).decode("utf-8", "ignore")
    if text in totals:
        assert totals[text] == pytest.approx(best[0], abs=1e-3)
    again = opened(Path(backend.path)).beam_search(call(temperature=0.0, cap=length), width)
    assert [completion.text for completion in again] == [completion.text for completion in found]


def test_a_beam_of_one_is_greedy(backend: LlamaCppBackend) -> None:
    backend.begin()
    greedy = backend.complete(call(temperature=0.0, cap=20))
    assert backend.beam_search(call(temperature=0.0, cap=20), 1)[0].text == greedy.text


def test_a_prompt_beyond_the_context_fails_with_its_size(backend: LlamaCppBackend) -> None:
    with pytest.raises(CallError, match=r"the prompt has [\d,]+ tokens and the context 512"):
        backend.complete(call(messages=(Message("user", "x" * 600),)))


def test_what_the_context_cuts_off_is_on_record(backend: LlamaCppBackend) -> None:
    long = (Message("user", "x" * 480),)
    cut = [backend.complete(call(seed, messages=long, cap=100)) for seed in range(4)]
    assert any(completion.room is not None for completion in cut)
    for completion in cut:
        if completion.room is not None:
            assert completion.finish_reason == "length"
            assert completion.completion_tokens == completion.room < 100


@pytest.mark.parametrize("seed", [-1, 2**32 - 1, 2**32])
def test_seeds_that_mean_random_are_refused(backend: LlamaCppBackend, seed: int) -> None:
    with pytest.raises(UsageError, match="means a random seed"):
        backend.complete(call(seed))


def test_files_that_cannot_be_used_are_refused_with_the_reason(tmp_path: Path, model: Path) -> None:
    cases = {
        "no.gguf": (None, "cannot be read: No such file"),
        "text.gguf": (b"hello, I am a text", "is not a GGUF file"),
        "pointer.gguf": (b"version https://git-lfs.github.com/spec/v1\n", "Git LFS pointer"),
        "cut.gguf": (model.read_bytes()[:3000], "cannot be loaded by llama.cpp: "),
    }
    for name, (content, message) in cases.items():
        path = tmp_path / name
        if content is not None:
            path.write_bytes(content)
        with pytest.raises(UsageError, match=message):
            opened(path)


def test_a_model_without_a_chat_template_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no chat template"):
        opened(write_model(tmp_path / "bare.gguf", template=None))


def test_a_template_without_a_role_fails_the_call_and_says_so(tmp_path: Path) -> None:
    strict = (
        "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no system role') }}{% endif %}"
        "{% endfor %}"
    )
    backend = opened(write_model(tmp_path / "strict.gguf", template=strict + TEMPLATE))
    with pytest.raises(CallError, match="the chat template refuses the conversation: no system role"):
        backend.complete(call())


def test_no_clock_reaches_a_prompt(tmp_path: Path) -> None:
    backend = opened(write_model(tmp_path / "dated.gguf", template="{{ strftime_now('%d %b %Y') }}" + TEMPLATE))
    assert backend.render(ASKED).startswith("01 Jan 2025")
    assert (backend.facts().extra or {})["template_date"] == "2025-01-01"


def test_facts_name_what_regeneration_needs(backend: LlamaCppBackend) -> None:
    facts = backend.facts()
    assert facts.backend.name == "llama.cpp"
    assert facts.parameters == 2 * 262 * 32 + 2 * (4 * 32 * 32 + 3 * 32 * 64) + 5 * 32
    assert set(facts.extra or {}) >= {"ggml", "system_info", "ubatch_size", "flash_attention", "kv_types", "reset"}
