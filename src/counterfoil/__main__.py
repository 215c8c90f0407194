"""`python -m counterfoil` is the command `counterfoil`."""

from __future__ import annotations

import sys

from counterfoil.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
