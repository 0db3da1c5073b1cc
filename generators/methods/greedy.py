"""Greedy decoding: ROR's name for the one deterministic answer (ROR 4.2); the calls are chain of thought's."""

from dataclasses import replace

from generators.methods import chain_of_thought

METHOD = replace(chain_of_thought.METHOD, name="greedy", summary="the same under ROR's name")
