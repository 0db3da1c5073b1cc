"""Diagnostics: what a suspicious reader asks once the numbers are counted, a file each."""
