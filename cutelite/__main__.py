"""`python -m cutelite`: the command line, where its script is not installed."""

import sys

from cutelite.cli import main

sys.exit(main())
