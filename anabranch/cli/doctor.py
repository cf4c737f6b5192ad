"""`doctor`: whether everything is there that a lake needs."""

from __future__ import annotations

import tempfile
from typing import Annotated

import typer

from anabranch.cli.app import command, quiet_exit
from anabranch.cli.exit_codes import ExitCode
from anabranch.cli.output import Column
from anabranch.cli.session import Session
from anabranch.errors import AnabranchError, NoLakeGiven


@command("doctor", panel="Keep house")
def doctor(
    session: Session,
    spark: Annotated[bool, typer.Option("--spark", help="Start Spark too, and let it count to one.")] = False,
) -> None:
    """Check Java, catalog, warehouse, clocks and scheduler.

    Each check is ok, a warning or a failure; a failure makes the exit code 1.
    """
    from anabranch.inspect.health import FAIL, OK, WARN, Check

    styles = {OK: "green", WARN: "yellow", FAIL: "bold red"}
    columns: list[Column[Check]] = [
        Column("", lambda each: each.outcome, lambda each: styles[each.outcome], whole=True),
        Column("check", lambda each: each.name),
        Column("found", lambda each: f"{each.found}. Hint: {each.hint}" if each.hint else each.found),
    ]

    def failed_check(name: str, error: AnabranchError) -> Check:
        said = " ".join(filter(None, (f"{error.code} {error.message}", error.detail)))
        return Check(name, FAIL, said, error.hint)

    def check_java_version() -> Check:
        from anabranch.engine.spark.java import check_java

        try:
            return Check("Java", OK, f"version {check_java()}")
        except AnabranchError as error:
            return failed_check("Java", error)

    def check_spark() -> Check:
        """On a lake of its own: whether this one can be opened is another question."""
        with tempfile.TemporaryDirectory(prefix="anabranch-doctor-") as folder, session.show_progress():
            try:
                lake = session.connect(folder, catalog=None, observer=session.notify_watchers)
                try:
                    (row,) = lake.sql("SELECT 1 AS one").collect()
                finally:
                    lake.close()
            except AnabranchError as error:
                return failed_check("Spark", error)
        return (
            Check("Spark", OK, "starts and answers") if row[0] == 1 else Check("Spark", FAIL, f"says {row}")
        )

    found = [check_java_version()]
    if spark:
        found.append(check_spark())
    try:
        with session.open_lake() as lake:
            found += lake.health()
    except NoLakeGiven as error:
        found.append(Check("lake", WARN, error.message, error.hint))
    except AnabranchError as error:
        found.append(failed_check("lake", error))
    session.out.print_records(found, columns, none="")
    if any(each.outcome == FAIL for each in found):
        raise quiet_exit(ExitCode.FAILED)
