"""One module a harness: `session()` gives an `async run(script) -> str` that works a script off and returns its end."""
