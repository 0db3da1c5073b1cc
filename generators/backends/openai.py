"""Any server that speaks the OpenAI chat protocol: llama-server, vLLM, Ollama and others (extra `[openai]`).

A server's texts are only as repeatable as the server: batching and caching there are out of this project's sight.
"""

import os
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from generators.backends.call import BackendError, Call, CallError, Completion, Facts, Token, UnsupportedError
from schemas.errors import UsageError
from schemas.manifest import Backend
from schemas.plan import OpenAI
from schemas.record import FinishReason

FIRST_WAIT, LONGEST_WAIT = 0.5, 30.0
"""Seconds between attempts: doubled each time, within these."""

Whole = Annotated[int, Meta(ge=0, le=2**31 - 1)]


class _Said(Struct):
    content: str | None = None


class _LogprobToken(Struct):
    token: str
    logprob: float


class _Logprobs(Struct):
    content: list[_LogprobToken] | None = None


class _Choice(Struct):
    message: _Said
    finish_reason: str | None = None
    logprobs: _Logprobs | None = None


class _Usage(Struct):
    prompt_tokens: Whole | None = None
    completion_tokens: Whole | None = None


class _Answer(Struct):
    choices: Annotated[list[_Choice], Meta(min_length=1)]
    usage: _Usage | None = None


class _RetryError(Exception):
    """An attempt that failed for a reason that may pass."""


class OpenAIBackend:
    """One model of one server; safe to call from several threads."""

    def __init__(self, options: OpenAI) -> None:
        try:
            import httpx
            import tenacity
        except ImportError as error:
            raise UsageError(
                "Servers are asked by httpx and tenacity, which are not installed; install the extra: "
                "pip install 'generation-audit[openai]'."
            ) from error
        self.httpx, self.tenacity = httpx, tenacity
        self.unreachable = (httpx.ConnectError, httpx.ConnectTimeout)
        self.options = options
        self.concurrency = options.concurrency
        headers = {}
        if options.key_variable is not None:
            key = os.environ.get(options.key_variable)
            if not key:
                raise UsageError(
                    f"The environment variable {options.key_variable} is not set; it holds the server's key."
                )
            if not (key.isascii() and key.isprintable()):
                raise UsageError(
                    f"The environment variable {options.key_variable} holds a line break or a character that no key "
                    "has; set it to the key alone."
                )
            headers["Authorization"] = f"Bearer {key}"
        self.client = httpx.Client(
            base_url=_address(httpx, str(options.base_url)),
            headers=headers,
            timeout=httpx.Timeout(options.timeout, connect=min(options.timeout, 10.0)),
            limits=httpx.Limits(max_connections=options.concurrency),
            follow_redirects=False,
            trust_env=False,
        )

    def facts(self) -> Facts:
        """The name by which the server knows the model; what runs behind it is not known."""
        return Facts(
            backend=Backend(name="openai"),
            extra={"served_as": self.options.model, "standard_only": self.options.standard_only},
        )

    def begin(self) -> None:
        """A server forgets or caches as it likes."""

    def complete(self, call: Call) -> Completion:
        """One answer, tried again after refusals that may pass (429, 5xx, broken or unreadable answers)."""
        if call.prefix:
            raise UnsupportedError(
                "The method continues a given beginning, which the OpenAI protocol cannot ask for; "
                "run it on a GGUF file, or leave it out for this model."
            )
        tenacity = self.tenacity
        retrying = tenacity.Retrying(
            stop=tenacity.stop_after_attempt(self.options.attempts),
            wait=tenacity.wait_exponential(multiplier=FIRST_WAIT, max=LONGEST_WAIT),
            retry=tenacity.retry_if_exception_type((_RetryError, *self.unreachable)),
            reraise=True,
        )
        try:
            answer: _Answer = retrying(self._ask, self._body(call))
        except _RetryError as error:
            raise CallError(f"{error}, {self.options.attempts} times") from error
        except self.unreachable as error:
            raise BackendError(
                f"{self.options.base_url} does not answer ({error}). What was made before is kept; start the server "
                "and run the same command again."
            ) from error
        return _completion(answer)

    def beam_search(self, call: Call, width: int) -> list[Completion]:
        """Not in the protocol."""
        del call, width
        raise UnsupportedError(
            "The OpenAI protocol has no beam search; run beam_search on a GGUF file, or leave it out for this model."
        )

    def close(self) -> None:
        """Close the connections."""
        self.client.close()

    def _body(self, call: Call) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self.options.model,
            "messages": [{"role": message.role, "content": message.content} for message in call.messages],
            "temperature": call.temperature,
            "top_p": call.sampling.top_p,
            "seed": call.seed,
            "max_tokens": call.token_cap,
            "stream": False,
        }
        if call.tokens:
            body["logprobs"] = True
        if not self.options.standard_only:
            # Beyond the protocol, under the names that llama-server and vLLM take; others ignore or refuse them.
            body |= {
                "top_k": call.sampling.top_k,
                "min_p": call.sampling.min_p,
                "repeat_penalty": call.sampling.repeat_penalty,
                "repetition_penalty": call.sampling.repeat_penalty,
            }
        return body

    def _ask(self, body: dict[str, Any]) -> _Answer:
        try:
            response = self.client.post("chat/completions", json=body)
        except self.unreachable:
            raise
        except self.httpx.TimeoutException as error:
            raise _RetryError(f"the server gave no answer within {self.options.timeout:g} s") from error
        except self.httpx.HTTPError as error:
            raise _RetryError(f"the connection broke ({type(error).__name__})") from error
        said = _excerpt(response.text)
        if response.status_code in (408, 429) or response.status_code >= 500:
            raise _RetryError(f"the server answered HTTP {response.status_code} ({said})")
        if response.status_code in (401, 403, 404, 405) or response.is_redirect:
            raise BackendError(
                f"{self.options.base_url} answered HTTP {response.status_code} ({said}); check base_url, model and key."
            )
        if response.status_code != 200:
            raise CallError(f"the server refused the call with HTTP {response.status_code} ({said})")
        try:
            answer = msgspec.json.decode(response.content, type=_Answer)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise _RetryError(f"the server's answer cannot be read ({_excerpt(str(error))})") from error
        if answer.choices[0].message.content is None:
            raise _RetryError("the server's answer holds no text")
        return answer


def _completion(answer: _Answer) -> Completion:
    choice, usage = answer.choices[0], answer.usage or _Usage()
    reasons: dict[str | None, FinishReason] = {"stop": "stop", "length": "length"}
    tokens = [] if choice.logprobs is None else choice.logprobs.content or []
    return Completion(
        text=choice.message.content or "",
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
        finish_reason=reasons.get(choice.finish_reason, "unknown"),
        tokens=tuple(Token(item.token, item.logprob) for item in tokens),
    )


def _address(httpx: Any, base_url: str) -> str:
    """The base URL as the client wants it. Raises UsageError for one that no server can have."""
    try:
        url = httpx.URL(base_url)
        good = url.scheme in ("http", "https") and url.host and (url.port is None or 0 < url.port < 2**16)
    except httpx.InvalidURL:
        good = False
    if not good:
        raise UsageError(f"base_url {base_url!r} is not the address of a server; write http://HOST:PORT/v1.")
    return base_url.rstrip("/") + "/"


def _excerpt(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 160 else f"{line[:157]}..."
