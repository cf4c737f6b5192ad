"""Run the tests that need Spark beside those that don't: one process with one JVM, and two without any.

Options are passed on to both. The output of Spark's comes when they are through.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile

from tests.seeds import run_number

EVERY_TIME = "not slow and not endless and not cluster"
WITHOUT_SPARK = ["-m", f"not spark and {EVERY_TIME}", "-n", "2", "--dist", "worksteal"]
ON_SPARK = ["-m", f"spark and {EVERY_TIME}", "-n", "0", "tests"]


def main(options: list[str]) -> int:
    """Run both, with the same random cases; the exit code of the first that failed."""
    run_number()
    pytest = [sys.executable, "-m", "pytest", "-q", *options]
    with tempfile.TemporaryFile() as output:
        on_spark = subprocess.Popen([*pytest, *ON_SPARK], stdout=output, stderr=subprocess.STDOUT)
        try:
            without = subprocess.call([*pytest, *WITHOUT_SPARK])
            on_spark.wait()
        finally:
            on_spark.terminate()
            on_spark.wait()
        output.seek(0)
        print("\nThose that need Spark:", flush=True)
        sys.stdout.buffer.write(output.read())
        sys.stdout.flush()
    return without or on_spark.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
