"""Pages that show a kernel: source, IR, PTX and machine code side by side, with numbers for each line.

In    a compile with source lines (`builds.Build`); optionally a simulated run's timeline, and a check's report
Out   `Exploration`: data as JSON (`data.py`), and one HTML file that loads no other (`page.py`, `page.html`)

`attribution.py` finds the machine code of a source line.
"""

from cutelite.explore.data import Facts, kernel_data
from cutelite.explore.page import Exploration

__all__ = ["Exploration", "Facts", "kernel_data"]
