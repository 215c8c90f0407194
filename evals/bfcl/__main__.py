"""`python -m evals.bfcl`."""

import sys

from evals.bfcl.command import main

sys.exit(main(sys.argv[1:]))
