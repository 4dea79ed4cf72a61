"""One compile: its artefacts, and everything that is said of it.

source.py     the input of a compile
build.py      the artefact of every stage
hooks.py      functions of users before and after stages
artifact.py   the last stage: what is launched
refusals.py   failures of a stage: the user's mistake, or a bug of ours
findings.py   warnings of the assembler, spills, instructions that it moved
collector.py  Python's collector of cycles, while kernels are compiled
dumps.py      stages as files, on the terminal, and their times
"""
