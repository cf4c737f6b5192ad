"""An exception of Java's without a cause was told as the name of the method that was called."""

from __future__ import annotations

import pytest
from py4j.protocol import Py4JError  # type: ignore[import-untyped]

from anabranch.engine.spark.error_translation import translate_errors
from anabranch.errors import EngineFailed

CALL = "An error occurred while calling o3086.parquet.\n"
LOST = (
    "Job aborted due to stage failure: Task 1 in stage 102.0 failed 1 times, most recent failure: "
    "Lost task 1.2 in stage 102.0 (TID 97) (127.0.0.1 executor 5): ExecutorLostFailure"
)
TRACE = "\n\tat org.apache.spark.scheduler.DAGScheduler.abortStage(DAGScheduler.scala:2)\n"


def detail_of(text: str) -> str | None:
    with pytest.raises(EngineFailed) as raised, translate_errors():
        raise Py4JError(text)
    return raised.value.detail


def test_the_exception_itself_is_told() -> None:
    assert detail_of(f"{CALL}: org.apache.spark.SparkException: {LOST}{TRACE}") == LOST


def test_its_innermost_cause_says_more() -> None:
    causes = "Caused by: java.io.IOException: broken pipe\n\tat a.B\nCaused by: a.B: disk is full\n"
    assert detail_of(f"{CALL}: org.apache.spark.SparkException: {LOST}{TRACE}{causes}") == "disk is full"


def test_an_exception_without_a_message_is_named() -> None:
    assert detail_of(f"{CALL}: java.lang.NullPointerException{TRACE}") == "java.lang.NullPointerException"


def test_without_an_exception_the_first_line_is_told() -> None:
    assert detail_of("Answer from Java side is empty\nand more") == "Answer from Java side is empty"
