"""One module a measure: run in a harness's own venv, it prints one JSON object."""
