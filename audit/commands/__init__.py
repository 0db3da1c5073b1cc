"""One module a subcommand. Each returns an `Outcome`; only `audit.cli` prints it and exits."""
