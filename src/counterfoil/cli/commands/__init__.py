"""One file per group of subcommands: its arguments, and what it does."""
