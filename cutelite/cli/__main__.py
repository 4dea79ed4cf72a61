"""`python -m cutelite.cli`: the command line, for when its script is not installed."""

import sys

from cutelite.cli import main

sys.exit(main())
