"""What Java and Spark print at every start is left out of standard error; everything else is passed on."""

from __future__ import annotations

import subprocess
import sys

CHILD = """
import sys
for line in (
    "WARNING: Using incubator modules: jdk.incubator.vector",
    "Setting default log level to WARN",
    "Setting Spark log level to OFF",
    "Something else went wrong",
):
    print(line, file=sys.stderr)
"""
PROGRAM = """
import subprocess, sys, time
from anabranch.engine.spark.startup_chatter import without_startup_chatter

with without_startup_chatter():
    subprocess.run([sys.executable, "-c", sys.argv[1]], check=True)
    print("while it starts", file=sys.stderr, flush=True)
print("after it", file=sys.stderr, flush=True)
time.sleep(0.5)
"""


def test_only_the_lines_of_every_start_are_left_out() -> None:
    command = [sys.executable, "-c", PROGRAM, CHILD]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert all(text in done.stderr for text in ("Something else went wrong", "while it starts", "after it"))
    assert not any(text in done.stderr for text in ("incubator", "default log level", "Spark log level"))
