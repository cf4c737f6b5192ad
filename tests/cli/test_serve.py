"""`serve` hands its options to the service."""

from __future__ import annotations

import json
import signal
import subprocess
import urllib.request

import pytest

from tests.cli.test_processes import environment, on_duckdb


@pytest.fixture
def handed(monkeypatch) -> dict[str, object]:
    given: dict[str, object] = {}
    monkeypatch.setattr("anabranch.web.serve", lambda lake, **options: given.update(options))
    return given


def test_options_reach_the_service(run, shop, handed, tmp_path):
    (tmp_path / "token").write_text("a-token-of-sixteen\n")
    words = ["--host", "127.0.0.2", "--port", "0", "--token-file", tmp_path / "token", "--no-scheduler"]
    assert run("serve", *words, "--allow-host", "lake.example", "--allow-host", "other.example").code == 0
    handed.pop("tell")
    assert handed == {
        "host": "127.0.0.2",
        "port": 0,
        "token": "a-token-of-sixteen",
        "allow_hosts": ("lake.example", "other.example"),
        "scheduler": False,
    }


def test_a_token_may_come_from_the_environment(run, shop, handed):
    assert run("serve", ANABRANCH_TOKEN="a-token-of-sixteen").code == 0
    assert (handed["token"], handed["scheduler"], handed["host"]) == ("a-token-of-sixteen", True, "127.0.0.1")


def test_without_a_token_the_service_makes_one(run, shop, handed):
    assert run("serve", ANABRANCH_TOKEN="").code == 0
    assert handed["token"] is None


def test_token_files_that_are_none(run, shop, handed, tmp_path):
    (tmp_path / "empty").write_text(" \n")
    (tmp_path / "large").write_text("x" * 5000)
    for name in ("missing", "empty", "large"):
        said = run("serve", "--token-file", tmp_path / name)
        assert said.code == 2
        assert "x" * 50 not in said.err
    assert not handed
    assert run("serve", "--port", "70000").code == 2


def test_it_serves_until_it_is_told_to_stop(shop, place):
    process = subprocess.Popen(
        on_duckdb("--lake", place, "serve", "--port", "0"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
        text=True,
    )
    try:
        assert process.stderr is not None
        said = ""
        while "Serving " not in said:
            line = process.stderr.readline()
            assert line, said
            said += line
        address = said.rpartition(" at ")[2].strip()
        with urllib.request.urlopen(f"{address}/healthz", timeout=30) as answer:
            assert json.load(answer)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
        assert process.returncode == 0
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
