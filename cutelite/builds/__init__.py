"""One compile: its artefacts, and everything that is reported about it.

source.py     the input of a compile
build.py      the artefact of every stage
hooks.py      users' functions that are called before and after stages
artifact.py   the last stage: the artefact that is launched
refusals.py   failures of a stage: a mistake of the user, or a bug in cutelite
findings.py   warnings about the assembler's result: its own, spills, instructions that it moved
collector.py  Python's garbage collector, while kernels are compiled
dumps.py      stages as files and on the terminal, and their times
"""
