"""Checks for a Java that Spark can run on, before Spark itself fails with a stack trace."""

from __future__ import annotations

import os
import re
import shutil
import subprocess

from anabranch.errors import JavaMissing

OLDEST_JAVA = 17
_VERSION = re.compile(r'version "(\d+)')


def check_java() -> int:
    """The version of the Java in JAVA_HOME or on the PATH, at least 17; else one clear error."""
    home = os.environ.get("JAVA_HOME")
    java = os.path.join(home, "bin", "java") if home else shutil.which("java")
    found = _read_java_version(java) if java else None
    if found is None or found < OLDEST_JAVA:
        raise JavaMissing(
            f"Spark needs a Java runtime of version {OLDEST_JAVA} or later",
            detail="none was found." if found is None else f"version {found} was found.",
            hint="install one, for example openjdk-17-jre-headless, or set JAVA_HOME.",
        )
    return found


def _read_java_version(java: str) -> int | None:
    try:
        shown = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = _VERSION.search(shown.stderr + shown.stdout)
    return int(match.group(1)) if match else None
