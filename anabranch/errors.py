"""Every error a user can meet: a stable code, one line that names the thing, detail and hint.

    AnabranchError
    ├── InputError            AB1xx  a name, schema, value or setting that can't be taken
    ├── SqlError              AB2xx  a statement that can't be read or isn't accepted
    ├── CommitError           AB3xx  a commit that didn't happen
    ├── StorageError          AB4xx  versions and files
    ├── EngineError           AB5xx  Spark and Java
    ├── StreamTableError      AB6xx  stream tables and their refreshes
    ├── GateError             AB7xx  gates and watermarks of sources, fuses (AB72x)
    ├── ProjectError          AB8xx  project files, and what they ask of a lake
    ├── CommandError          AB90x  a call of the command line that can't be meant so
    └── ServiceError          AB92x  the HTTP service and requests to it

Codes are public: they are never reused and never change their meaning.
"""

from __future__ import annotations

from typing import ClassVar


class AnabranchError(Exception):
    """Base of all errors: `code`, `message`, and where useful `detail` and `hint`."""

    code: ClassVar[str] = "AB000"

    def __init__(self, message: str, *, detail: str | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.detail = detail
        self.hint = hint

    def __str__(self) -> str:
        lines = [f"{self.code} {self.message}"]
        if self.detail:
            lines.append(f"Detail: {self.detail}")
        if self.hint:
            lines.append(f"Hint: {self.hint}")
        return "\n".join(lines)

    def __reduce__(self) -> tuple[object, ...]:
        return (_unpickle_error, (type(self), self.message, self.detail, self.hint))


def _unpickle_error(
    kind: type[AnabranchError], message: str, detail: str | None, hint: str | None
) -> AnabranchError:
    return kind(message, detail=detail, hint=hint)


class Notice(UserWarning):
    """Something a user should know that is not an error."""


# -- AB1xx: input ---------------------------------------------------------------------------------


class InputError(AnabranchError):
    """A name, schema, value or setting that can't be taken."""

    code = "AB100"


class InvalidName(InputError):
    """A table, namespace or column name that isn't a plain identifier."""

    code = "AB101"


class NameTaken(InputError):
    """The name, or one that differs only in case, already stands for something."""

    code = "AB102"


class UnknownTable(InputError):
    """No table of that name in the lake (or not at the lsn asked for)."""

    code = "AB103"


class UnknownColumn(InputError):
    """A column that the table doesn't have."""

    code = "AB104"


class InvalidSchema(InputError):
    """A schema that can't be read, is empty, or names a column twice."""

    code = "AB105"


class UnsupportedType(InputError):
    """A Spark type for which an Iceberg v2 table has no place."""

    code = "AB106"


class InvalidValue(InputError):
    """A value that doesn't fit its column: wrong type or out of range."""

    code = "AB107"


class NullNotAllowed(InputError):
    """A NULL, or a missing value, for a NOT NULL column."""

    code = "AB108"


class AmbiguousRows(InputError):
    """Several incoming rows claim the same row of the table."""

    code = "AB109"


class UnknownSetting(InputError):
    """A setting that doesn't exist."""

    code = "AB110"


class InvalidSetting(InputError):
    """A setting's value that can't be taken."""

    code = "AB111"


class InvalidLsn(InputError):
    """An lsn that isn't one of this lake's, or a pair in the wrong order."""

    code = "AB112"


class InvalidLocation(InputError):
    """A lake or catalog location that can't be used."""

    code = "AB113"


class InvalidSchedule(InputError):
    """A schedule that is no duration, cron expression or word, or that never comes due."""

    code = "AB114"


# -- AB2xx: SQL -----------------------------------------------------------------------------------


class SqlError(AnabranchError):
    """A statement that can't be read or isn't accepted."""

    code = "AB200"


class SqlSyntax(SqlError):
    """Text that isn't SQL."""

    code = "AB201"


class NotOneStatement(SqlError):
    """No statement, or more than one, where one is expected."""

    code = "AB202"


class NotIncremental(SqlError):
    """A query that can't be maintained incrementally, or not yet."""

    code = "AB203"


class UnsupportedStatement(SqlError):
    """A statement, clause or function that is not accepted here."""

    code = "AB204"


class SqlTooLarge(SqlError):
    """A statement beyond the limits of size or nesting."""

    code = "AB205"


class InvalidQuery(SqlError):
    """A statement that Spark's analyser refuses: unknown columns, wrong types and the like."""

    code = "AB206"


class UnknownColumnInQuery(SqlError):
    """A column that nothing in a query's FROM has."""

    code = "AB207"


class AmbiguousColumn(SqlError):
    """A name in a query that stands for more than one column."""

    code = "AB208"


class InvalidOutput(SqlError):
    """A query whose result can't be a table: a column without a name, or a name twice."""

    code = "AB209"


# -- AB3xx: commits -------------------------------------------------------------------------------


class CommitError(AnabranchError):
    """A commit that didn't happen. Nothing of it is visible."""

    code = "AB300"


class WriteConflict(CommitError):
    """Another writer changed a table that this transaction changed too."""

    code = "AB301"


class FencedOff(CommitError):
    """The lease under which this commit was prepared has passed to another holder."""

    code = "AB302"


class CommitUnknown(CommitError):
    """The database didn't say whether the commit happened, and can't be asked."""

    code = "AB303"


class CatalogUnavailable(CommitError):
    """The catalog database can't be reached, or stayed busy for too long."""

    code = "AB304"


class TransactionOver(CommitError):
    """A transaction used after it was committed or rolled back."""

    code = "AB305"


class LakeTooNew(CommitError):
    """The lake was written by a later release, with a schema this one doesn't know."""

    code = "AB306"


# -- AB4xx: storage -------------------------------------------------------------------------------


class StorageError(AnabranchError):
    """Versions and files."""

    code = "AB400"


class VersionExpired(StorageError):
    """A version that maintenance has already dropped."""

    code = "AB401"


class Damaged(StorageError):
    """Files or metadata that are missing or contradict each other. Never guessed around."""

    code = "AB402"


class ForeignFormat(StorageError):
    """A table, as another Iceberg client left it, that can't be read or written here."""

    code = "AB403"


# -- AB5xx: engine --------------------------------------------------------------------------------


class EngineError(AnabranchError):
    """Spark and Java."""

    code = "AB500"


class JavaMissing(EngineError):
    """No JDK 17 or later."""

    code = "AB501"


class EngineFailed(EngineError):
    """Spark failed while it ran a statement: a division by zero, an overflow, a lost file."""

    code = "AB502"


class EngineMemory(EngineFailed):
    """A task of Spark's got no more memory for what it must hold."""

    code = "AB503"


# -- AB6xx: stream tables -------------------------------------------------------------------------


class StreamTableError(AnabranchError):
    """Stream tables and their refreshes."""

    code = "AB600"


class UnknownStreamTable(StreamTableError):
    """No stream table of that name."""

    code = "AB601"


class HasDependents(StreamTableError):
    """A stream table that others read can't go without them."""

    code = "AB602"


class CircularDefinition(StreamTableError):
    """A definition that would make a stream table read itself, through others or at once."""

    code = "AB603"


class BrokenDefinition(StreamTableError):
    """A query that no longer fits what it reads: a table or a column is gone, or has another type."""

    code = "AB604"


class RefreshHeld(StreamTableError):
    """A refresh that can't be: the stream table, or one that moves with it, is held."""

    code = "AB605"


class NotWritable(StreamTableError):
    """A stream table is written by its refreshes alone."""

    code = "AB606"


class InvalidOption(StreamTableError):
    """An option of a stream table that doesn't exist, or a value that it can't have."""

    code = "AB607"


class InvalidGroup(StreamTableError):
    """A group that can't be declared so, or that doesn't exist."""

    code = "AB608"


class ImmediateFailed(StreamTableError):
    """A write that didn't happen, because a stream table that moves with it couldn't be maintained."""

    code = "AB609"


class NotMonotone(StreamTableError):
    """A cycle through an operator that takes rows away when others come: it need not have a fixed point."""

    code = "AB610"


class NoFixpoint(StreamTableError):
    """A recursion that went on for longer than it may; nothing of it was published."""

    code = "AB611"


# -- AB7xx: gates ---------------------------------------------------------------------------------


class GateError(AnabranchError):
    """Gates and watermarks of sources."""

    code = "AB700"


class NotASource(GateError):
    """A stream table where a source is meant: it can be suspended, but has no gate and no watermark."""

    code = "AB701"


class InvalidWatermark(GateError):
    """Something that is no timestamp, or none that can be kept."""

    code = "AB702"


class WatermarkBackwards(GateError):
    """A watermark that lies before the one that the source has."""

    code = "AB703"


class InvalidWatermarkGroup(GateError):
    """A watermark group that can't be declared so, or that doesn't exist."""

    code = "AB704"


# -- AB72x: fuses ---------------------------------------------------------------------------------


class FuseError(GateError):
    """Something that can't be decided about a fuse."""

    code = "AB720"


class FuseNotBlown(FuseError):
    """A fuse that has not blown can't be reset."""

    code = "AB721"


# -- AB8xx: projects ------------------------------------------------------------------------------


class ProjectError(AnabranchError):
    """Project files, and what they ask of a lake."""

    code = "AB800"


class InvalidProjectFile(ProjectError):
    """An anabranch.yml that is missing or can't be read, or says what can't be said there."""

    code = "AB801"


class UnknownEnvironment(ProjectError):
    """An environment that the project file doesn't have."""

    code = "AB802"


class MissingVariable(ProjectError):
    """An environment variable that the project file refers to and that isn't set."""

    code = "AB803"


class InvalidDefinitionFile(ProjectError):
    """A .sql or .py file of a project that can't be taken."""

    code = "AB804"


class DefinedTwice(ProjectError):
    """A name that two definitions of a project claim."""

    code = "AB805"


class DifferentColumns(ProjectError):
    """A source that has other columns than its CREATE TABLE in the project says."""

    code = "AB806"


class OwnedElsewhere(ProjectError):
    """A stream table or group that another project made."""

    code = "AB807"


class PlanOutdated(ProjectError):
    """A plan that no longer fits: the lake or the project changed since it was made."""

    code = "AB808"


class FileExists(ProjectError):
    """A file that would be overwritten."""

    code = "AB809"


# -- AB90x: the command line ----------------------------------------------------------------------


class CommandError(AnabranchError):
    """A call of the command line that can't be meant so."""

    code = "AB900"


class NoLakeGiven(CommandError):
    """A command that doesn't know which lake is meant."""

    code = "AB901"


class NoSuchLake(CommandError):
    """A place without a lake, for a command that wouldn't create one."""

    code = "AB902"


class InvalidSelector(CommandError):
    """A selector of stream tables that can't be read."""

    code = "AB903"


class NothingSelected(CommandError):
    """A selector that no stream table answers to."""

    code = "AB904"


# -- AB92x: the service ---------------------------------------------------------------------------


class ServiceError(AnabranchError):
    """The HTTP service, and requests to it."""

    code = "AB920"


class TokenNeeded(ServiceError):
    """A request without the service's token, or with another one."""

    code = "AB921"


class ForeignOrigin(ServiceError):
    """A request that a page of another site made."""

    code = "AB922"


class ForeignHost(ServiceError):
    """A request that was sent to a name this service doesn't answer to."""

    code = "AB923"


class RequestTooLarge(ServiceError):
    """A request whose body is larger than it may be."""

    code = "AB924"


class NotJson(ServiceError):
    """A request whose body isn't declared as JSON."""

    code = "AB925"


class InvalidRequest(ServiceError):
    """A request with a body or a parameter that can't be read."""

    code = "AB926"


class TooManyRequests(ServiceError):
    """More requests than are allowed in the time."""

    code = "AB927"


class AlreadyRunning(ServiceError):
    """An action that is running already."""

    code = "AB928"


class UnknownAction(ServiceError):
    """No action of that id, or none any more."""

    code = "AB929"


class UnknownRoute(ServiceError):
    """A path that the service doesn't have."""

    code = "AB930"


class WrongMethod(ServiceError):
    """A method that a path of the service doesn't take."""

    code = "AB931"


class ServiceBusy(ServiceError):
    """More work waits, or more streams are open, than the service takes on."""

    code = "AB932"


class UnsafeAddress(ServiceError):
    """An address that others can reach, for a service without a token of its owner's choice."""

    code = "AB933"


class InvalidServiceOption(ServiceError):
    """An option of the service that can't be taken: a weak token, a host that is no name."""

    code = "AB934"


class ServiceFailed(ServiceError):
    """Something that nobody foresaw; the service's log says what."""

    code = "AB935"


def every_error() -> list[type[AnabranchError]]:
    """All error classes in the order of their codes; the documentation's table is made from it."""
    found: list[type[AnabranchError]] = []
    pending: list[type[AnabranchError]] = [AnabranchError]
    while pending:
        kind = pending.pop()
        found.append(kind)
        pending.extend(kind.__subclasses__())
    return sorted(found, key=lambda kind: kind.code)
