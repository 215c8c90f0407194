"""`python -m evals.agentdojo`."""

import sys

from counterfoil import CounterfoilError
from evals.agentdojo import main

try:
    sys.exit(main())
except CounterfoilError as missing:
    sys.exit(str(missing))
