"""Where entries are kept: append-only, one writer per run, readable by anybody."""
