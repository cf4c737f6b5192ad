"""Builds a wheel of the package, and installs it into a folder of its own.

Put before all others on Python's path, that folder is where the package is imported from.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
OFFLINE = ("--quiet", "--disable-pip-version-check", "--no-index", "--no-deps")


def install_wheel(folder: Path) -> Path:
    """The folder in which the package is installed; what it depends on is installed already."""
    pip = [sys.executable, "-m", "pip"]
    built, installed = folder / "built", folder / "installed"
    building = [*pip, "wheel", *OFFLINE, "--no-build-isolation", "--wheel-dir", str(built), str(ROOT)]
    subprocess.run(building, check=True, cwd=folder)
    (wheel,) = built.glob("anabranch-*.whl")
    subprocess.run(
        [*pip, "install", *OFFLINE, "--target", str(installed), str(wheel)], check=True, cwd=folder
    )
    return installed
