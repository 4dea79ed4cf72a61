"""`python -m cutelite.cli`: the command line, where its script is not installed."""

import sys

from cutelite.cli import main

sys.exit(main())
