"""Errors: codes are public, and speak to the reader in one form."""

from __future__ import annotations

import pickle

import pytest

import anabranch as ab
from anabranch import errors
from anabranch.errors import AnabranchError, Notice, every_error

# Codes are never reused and never change their meaning: add to this table, change nothing in it.
CODES = {
    "AB000": "AnabranchError",
    "AB100": "InputError",
    "AB101": "InvalidName",
    "AB102": "NameTaken",
    "AB103": "UnknownTable",
    "AB104": "UnknownColumn",
    "AB105": "InvalidSchema",
    "AB106": "UnsupportedType",
    "AB107": "InvalidValue",
    "AB108": "NullNotAllowed",
    "AB109": "AmbiguousRows",
    "AB110": "UnknownSetting",
    "AB111": "InvalidSetting",
    "AB112": "InvalidLsn",
    "AB113": "InvalidLocation",
    "AB114": "InvalidSchedule",
    "AB200": "SqlError",
    "AB201": "SqlSyntax",
    "AB202": "NotOneStatement",
    "AB203": "NotIncremental",
    "AB204": "UnsupportedStatement",
    "AB205": "SqlTooLarge",
    "AB206": "InvalidQuery",
    "AB207": "UnknownColumnInQuery",
    "AB208": "AmbiguousColumn",
    "AB209": "InvalidOutput",
    "AB300": "CommitError",
    "AB301": "WriteConflict",
    "AB302": "FencedOff",
    "AB303": "CommitUnknown",
    "AB304": "CatalogUnavailable",
    "AB305": "TransactionOver",
    "AB306": "LakeTooNew",
    "AB400": "StorageError",
    "AB401": "VersionExpired",
    "AB402": "Damaged",
    "AB403": "ForeignFormat",
    "AB500": "EngineError",
    "AB501": "JavaMissing",
    "AB502": "EngineFailed",
    "AB503": "EngineMemory",
    "AB600": "StreamTableError",
    "AB601": "UnknownStreamTable",
    "AB602": "HasDependents",
    "AB603": "CircularDefinition",
    "AB604": "BrokenDefinition",
    "AB605": "RefreshHeld",
    "AB606": "NotWritable",
    "AB607": "InvalidOption",
    "AB608": "InvalidGroup",
    "AB609": "ImmediateFailed",
    "AB610": "NotMonotone",
    "AB611": "NoFixpoint",
    "AB700": "GateError",
    "AB701": "NotASource",
    "AB702": "InvalidWatermark",
    "AB703": "WatermarkBackwards",
    "AB704": "InvalidWatermarkGroup",
    "AB720": "FuseError",
    "AB721": "FuseNotBlown",
    "AB800": "ProjectError",
    "AB801": "InvalidProjectFile",
    "AB802": "UnknownEnvironment",
    "AB803": "MissingVariable",
    "AB804": "InvalidDefinitionFile",
    "AB805": "DefinedTwice",
    "AB806": "DifferentColumns",
    "AB807": "OwnedElsewhere",
    "AB808": "PlanOutdated",
    "AB809": "FileExists",
    "AB900": "CommandError",
    "AB901": "NoLakeGiven",
    "AB902": "NoSuchLake",
    "AB903": "InvalidSelector",
    "AB904": "NothingSelected",
    "AB920": "ServiceError",
    "AB921": "TokenNeeded",
    "AB922": "ForeignOrigin",
    "AB923": "ForeignHost",
    "AB924": "RequestTooLarge",
    "AB925": "NotJson",
    "AB926": "InvalidRequest",
    "AB927": "TooManyRequests",
    "AB928": "AlreadyRunning",
    "AB929": "UnknownAction",
    "AB930": "UnknownRoute",
    "AB931": "WrongMethod",
    "AB932": "ServiceBusy",
    "AB933": "UnsafeAddress",
    "AB934": "InvalidServiceOption",
    "AB935": "ServiceFailed",
}
FAMILIES = {
    "1": errors.InputError,
    "2": errors.SqlError,
    "3": errors.CommitError,
    "4": errors.StorageError,
    "5": errors.EngineError,
    "6": errors.StreamTableError,
    "7": errors.GateError,
    "8": errors.ProjectError,
    "90": errors.CommandError,
    "92": errors.ServiceError,
    "93": errors.ServiceError,
}
EVERY = every_error()


def test_every_code_stands_for_the_class_it_always_stood_for():
    assert {kind.code: kind.__name__ for kind in EVERY} == CODES
    assert len(EVERY) == len(CODES)


@pytest.mark.parametrize("kind", EVERY, ids=lambda kind: kind.__name__)
def test_an_error_belongs_to_the_family_of_its_code(kind):
    if kind is not AnabranchError:
        digits = kind.code.removeprefix("AB")
        assert issubclass(kind, next(FAMILIES[key] for key in FAMILIES if digits.startswith(key)))


@pytest.mark.parametrize("kind", EVERY, ids=lambda kind: kind.__name__)
def test_an_error_shows_code_message_detail_and_hint(kind):
    code = kind.code
    assert str(kind("it broke")) == f"{code} it broke"
    assert str(kind("it broke", detail="here.")) == f"{code} it broke\nDetail: here."
    assert str(kind("it broke", hint="mend it.")) == f"{code} it broke\nHint: mend it."
    assert str(kind("it broke", detail="here.", hint="mend it.")) == (
        f"{code} it broke\nDetail: here.\nHint: mend it."
    )


@pytest.mark.parametrize("kind", EVERY, ids=lambda kind: kind.__name__)
def test_an_error_survives_the_way_to_another_process(kind):
    error = kind("it broke", detail="here.", hint="mend it.")
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is kind
    assert (copy.code, copy.message, copy.detail, copy.hint) == (
        kind.code,
        "it broke",
        "here.",
        "mend it.",
    )
    assert str(copy) == str(error)


@pytest.mark.parametrize("kind", EVERY, ids=lambda kind: kind.__name__)
def test_an_error_says_what_it_is_for(kind):
    assert kind.__doc__
    assert kind.__doc__.strip().endswith(".") or ":" in kind.__doc__


def test_the_public_names_are_the_ones_in_use():
    assert ab.AnabranchError is AnabranchError
    assert ab.Notice is Notice
    assert issubclass(Notice, UserWarning)
    assert not issubclass(Notice, AnabranchError)
