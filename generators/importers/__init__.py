"""Importers: other people's logs become releases. A module a format; none of them guesses."""
