"""`python -m evals.toolformer`."""

import sys

from evals.toolformer.command import main

sys.exit(main(sys.argv[1:]))
