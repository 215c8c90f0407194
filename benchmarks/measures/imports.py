"""CPU and modules of an import, in this fresh interpreter: `python imports.py STATEMENT`."""

import json
import sys
import time

began = time.process_time()
exec(sys.argv[1])  # noqa: S102 the statement is one of benchmarks.peers
print(json.dumps({"cpu": time.process_time() - began, "modules": len(sys.modules)}))
