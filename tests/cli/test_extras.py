"""What is installed only on request, and what is said where it is missing."""

from __future__ import annotations

import subprocess
import sys

import pytest


def run_without(missing: str, code: str) -> subprocess.CompletedProcess[str]:
    """Run code in a process in which a package can't be imported."""
    hide = f"import sys; sys.modules[{missing!r}] = None; "
    return subprocess.run([sys.executable, "-c", hide + code], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("missing", ["typer", "rich"])
def test_without_its_extra_the_command_line_says_how_to_install_it(missing):
    done = run_without(missing, "from anabranch.cli.entry import main; main()")
    assert done.returncode == 1
    assert "pip install 'anabranch[cli]'" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("missing", ["fastapi", "uvicorn", "prometheus_client"])
def test_without_its_extra_serve_says_how_to_install_it(missing, tmp_path):
    lake = repr(str(tmp_path / "lake"))
    begin = f"import anabranch as ab; ab.connect({lake}).close(); "
    serve = f"sys.argv = ['anabranch', '--lake', {lake}, 'serve', '--port', '0']; "
    done = run_without(missing, begin + serve + "from anabranch.cli.entry import main; main()")
    assert done.returncode != 0
    assert "pip install 'anabranch[serve]'" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("missing", ["typer", "rich", "fastapi", "uvicorn", "prometheus_client"])
def test_without_extras_a_lake_opens(missing, tmp_path):
    code = f"import anabranch as ab; print(ab.connect({str(tmp_path / 'lake')!r}).lsn)"
    done = run_without(missing, code)
    assert (done.returncode, done.stdout.strip()) == (0, "0"), done.stderr
