"""What a suspicious reviewer asks next: a module a question, each pure, from the arrays that `verify.cells` makes.

Everything here describes or raises an eyebrow; nothing decides the exit code (ADR 0003, ADR 0013).
"""
