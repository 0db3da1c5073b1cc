"""A llama-architecture GGUF file of random weights, below 300 kB: real for llama.cpp, and it says nothing sensible."""

from pathlib import Path

import gguf
import numpy as np

TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}<|{{ message.role }}|>{{ message.content }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
SPECIALS = ["<|bos|>", "<|end|>", "<|system|>", "<|user|>", "<|assistant|>"]


def byte_tokens() -> list[str]:
    """The characters by which GPT-2 vocabularies write bytes 0 to 255."""
    plain = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    names = {}
    spare = 256
    for byte in range(256):
        if byte in plain:
            names[byte] = chr(byte)
        else:
            names[byte] = chr(spare)
            spare += 1
    return [names[byte] for byte in range(256)]


def write_model(path: Path, *, template: str | None = TEMPLATE, seed: int = 0, context: int = 2048) -> Path:
    """Two layers of width 32. `seed` of the weights; without `template` the file is one that must be refused."""
    width, layers, heads, inner, tokens = 32, 2, 2, 64, [*byte_tokens(), "th", *SPECIALS]
    rng = np.random.default_rng(seed)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("random")
    writer.add_context_length(context)
    writer.add_embedding_length(width)
    writer.add_block_count(layers)
    writer.add_feed_forward_length(inner)
    writer.add_head_count(heads)
    writer.add_head_count_kv(heads)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(width // heads)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types([gguf.TokenType.NORMAL] * 257 + [gguf.TokenType.CONTROL] * len(SPECIALS))
    writer.add_token_merges(["t h"])  # the format wants at least one
    writer.add_bos_token_id(tokens.index("<|bos|>"))
    writer.add_eos_token_id(tokens.index("<|end|>"))
    writer.add_add_bos_token(False)
    if template is not None:
        writer.add_chat_template(template)

    def weights(*shape: int, scale: float) -> np.ndarray:  # type: ignore[type-arg]
        return rng.normal(0, scale, shape).astype(np.float32)

    # Every state points one way to some extent, and so do the outputs of the printable characters and of the end: other
    # bytes come so rarely that texts are plain, and some of them end.
    common = np.ones((1, width), dtype=np.float32)
    embedding = weights(len(tokens), width, scale=1.0) + 1.5 * common
    writer.add_tensor("token_embd.weight", embedding)
    output = weights(len(tokens), width, scale=0.35) - 0.6 * common
    output[32:127] += 1.2 * common
    output[tokens.index("<|end|>")] += 1.3 * common[0]
    writer.add_tensor("output.weight", output)
    writer.add_tensor("output_norm.weight", np.ones(width, dtype=np.float32))
    for layer in range(layers):
        name = f"blk.{layer}"
        for part in ("attn_q", "attn_k", "attn_v", "attn_output"):
            writer.add_tensor(f"{name}.{part}.weight", weights(width, width, scale=0.3))
        writer.add_tensor(f"{name}.ffn_gate.weight", weights(inner, width, scale=0.3))
        writer.add_tensor(f"{name}.ffn_up.weight", weights(inner, width, scale=0.3))
        writer.add_tensor(f"{name}.ffn_down.weight", weights(width, inner, scale=0.3))
        writer.add_tensor(f"{name}.attn_norm.weight", np.ones(width, dtype=np.float32))
        writer.add_tensor(f"{name}.ffn_norm.weight", np.ones(width, dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
