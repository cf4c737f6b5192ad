"""What to do about each error: the advice that is always true; the message's hint knows the case at hand."""

from __future__ import annotations

from collections.abc import Mapping

from anabranch import errors
from anabranch.errors import AnabranchError

REMEDIES: Mapping[type[AnabranchError], str] = {
    AnabranchError: "Never raised itself: catch it to catch them all.",
    errors.InputError: "Correct the argument that the message names. Nothing was written.",
    errors.InvalidName: "Use letters, digits and underscores, and no word that SQL reserves.",
    errors.NameTaken: "Choose another name, drop what has it, or say `if_not_exists=True`.",
    errors.UnknownTable: "Look at `lake.tables()`; for an earlier lsn, at whether it existed then.",
    errors.UnknownColumn: "Look at the table's schema in `lake.tables()`.",
    errors.InvalidSchema: "Write it as `name TYPE, name TYPE NOT NULL, …`, each name once.",
    errors.UnsupportedType: "Store it as another type, for example a text, and cast it in queries.",
    errors.InvalidValue: "Correct the value, or cast it on its way in; nothing is cut or rounded silently.",
    errors.NullNotAllowed: "Give a value, or declare the column without NOT NULL.",
    errors.AmbiguousRows: "Reduce the incoming rows to one per key before you merge them.",
    errors.UnknownSetting: "Look it up in the list of settings.",
    errors.InvalidSetting: "Give a value that the list of settings allows.",
    errors.InvalidLsn: "Take lsns from `lake.lsn`, `lake.commits()` or the history, the earlier one first.",
    errors.InvalidLocation: "Check the path or address, and that the catalog belongs to this lake.",
    errors.InvalidSchedule: "Write a duration (`5m`), cron (`*/5 * * * *`), `calculated`, or None.",
    errors.SqlError: "Correct the statement at the place that the message names.",
    errors.SqlSyntax: "Correct the text; the detail has line and column. The dialect is Spark's.",
    errors.NotOneStatement: "Send statements one at a time.",
    errors.NotIncremental: "Rewrite the part that it names, or use `refresh_mode` `full` or `auto`.",
    errors.UnsupportedStatement: "Use a statement or function that is listed; files and Java stay outside.",
    errors.SqlTooLarge: "Split the query, for example into several stream tables.",
    errors.InvalidQuery: "Correct what Spark's analyser names: a column, a type, a number of columns.",
    errors.UnknownColumnInQuery: "Correct the name, or add the table that has it to FROM.",
    errors.AmbiguousColumn: "Write the table's name or alias before the column.",
    errors.InvalidOutput: "Give every column of the result a name of its own, with AS.",
    errors.CommitError: "Nothing of it is visible; it can be tried again.",
    errors.WriteConflict: "Run the transaction again: it has to read what the other writer changed.",
    errors.FencedOff: "Nothing, if another scheduler leads; else look why this one paused for so long.",
    errors.CommitUnknown: "Ask `lake.committed(attempt)` once the database answers, before trying again.",
    errors.CatalogUnavailable: "See that the database runs and can be reached; raise `catalog_timeout`.",
    errors.TransactionOver: "Begin another transaction.",
    errors.LakeTooNew: "Upgrade anabranch on this machine to the release that wrote the lake.",
    errors.StorageError: "Look at the table that the message names.",
    errors.VersionExpired: "Read a newer version; raise `snapshot_retention` to keep more.",
    errors.Damaged: "Restore warehouse and catalog from a backup; a stream table may be refreshed in full.",
    errors.ForeignFormat: "Let the client that left it so rewrite it: Iceberg v2, without delete files.",
    errors.EngineError: "Look at the detail, which has Spark's own words.",
    errors.JavaMissing: "Install a JDK 17 or later, or set JAVA_HOME.",
    errors.EngineFailed: "Mend the data or the query; a scheduled refresh tries again by itself.",
    errors.StreamTableError: "Look at `lake.status()` and `lake.refresh_history(name)`.",
    errors.UnknownStreamTable: "Look at `lake.status()`; a source is no stream table.",
    errors.HasDependents: "Drop or alter its readers first, or say `cascade=True`.",
    errors.CircularDefinition: "Break the circle that it names, or set `allow_circular` if it is meant.",
    errors.BrokenDefinition: "Alter the query, or bring back what it reads; then resume the stream table.",
    errors.RefreshHeld: "Do what the reason says: ungate, advance a watermark, reset the fuse, or resume.",
    errors.NotWritable: "Write to its sources; or alter its query.",
    errors.InvalidOption: "Look at the options of `create_stream_table`.",
    errors.InvalidGroup: "Correct what it names: two or more stream tables, each in one declared group.",
    errors.ImmediateFailed: "Mend the rows, or suspend the stream table so that writes pass.",
    errors.NotMonotone: "Move the operator that it names into a stream table before or behind the cycle.",
    errors.NoFixpoint: "Find the circle in the data, use UNION, or raise `max_fixpoint_iterations`; resume.",
    errors.GateError: "Correct the argument that the message names. Nothing was changed.",
    errors.NotASource: "Name one of its sources; to hold a stream table, suspend it.",
    errors.InvalidWatermark: "Give a datetime, a date, or ISO 8601 text.",
    errors.WatermarkBackwards: "Advance to a later time; gate a source that is loaded anew.",
    errors.InvalidWatermarkGroup: "Correct what it names: two or more sources, and a tolerance.",
    errors.FuseError: "Look at `lake.fuse_status()`.",
    errors.FuseNotBlown: "Nothing is to be decided; if it is suspended for another reason, resume it.",
}


def remedy(kind: type[AnabranchError]) -> str:
    """What to do about an error; where it has no advice of its own, that of its family."""
    return next(REMEDIES[base] for base in kind.__mro__ if base in REMEDIES)
