"""`python -m evals.agentdojo`."""

import sys

from evals.agentdojo import main

sys.exit(main())
