"""What leaves the lake: clauses and functions of Spark that reach past the tables of a query.

Everything here is decided on lexemes, before any parser has an opinion: a function is a name in front
of a bracket, however it is quoted or qualified.
"""

from __future__ import annotations

from anabranch.errors import UnsupportedStatement
from anabranch.sql.lexer import Kind, SqlText, place

LEAVING_FUNCTIONS = {
    "reflect": "it calls any Java method",
    "java_method": "it calls any Java method",
    "try_reflect": "it calls any Java method",
    "from_protobuf": "it reads a descriptor file",
    "to_protobuf": "it reads a descriptor file",
    "python_worker_logs": "it reads the logs of other people's queries",
    # Not in Spark 4.3 itself, but what platforms built on it call the same kind of door.
    "ai_query": "it calls out over the network",
    "cloud_files_state": "it reads outside the lake",
    "event_log": "it reads outside the lake",
    "http_request": "it calls out over the network",
    "load": "it reads outside the lake",
    "read_files": "it reads outside the lake",
    "read_kafka": "it reads outside the lake",
    "read_kinesis": "it reads outside the lake",
    "read_pubsub": "it reads outside the lake",
    "read_pulsar": "it reads outside the lake",
    "read_state_metadata": "it reads outside the lake",
    "read_statestore": "it reads outside the lake",
    "remote_query": "it reads outside the lake",
    "secret": "it reads a secret",
    "table_changes": "it reads outside the lake",
    "try_secret": "it reads a secret",
}
"""Functions that are refused, with the reason. Functions a user registered in Spark are the user's."""

_OPTION_PLACE = {"from_xml": 2, "schema_of_xml": 1}
"""Where options begin that can name a file (`rowValidationXSDPath`)."""


def check_sandbox(sql: SqlText) -> None:
    """Refuse what reaches past the tables of a query, or past what the parser can see of it."""
    for index, lexeme in enumerate(sql.lexemes):
        if lexeme.kind is Kind.SYMBOL:
            _check_symbol(sql, index)
        elif lexeme.is_name:
            if _next_text(sql, index) == "(":
                _check_call(sql, index)
            if not sql.follows_dot(index):
                _check_word(sql, index)


def _check_call(sql: SqlText, index: int) -> None:
    name = sql.lexemes[index].name.lower()
    if reason := LEAVING_FUNCTIONS.get(name):
        raise UnsupportedStatement(
            f"the function {name} is not accepted",
            detail=f"{place(sql.text, sql.lexemes[index].start)}: {reason}.",
        )
    if name == "identifier":
        raise UnsupportedStatement("the IDENTIFIER clause is not accepted", hint="write the name itself.")
    if name in _OPTION_PLACE and _count_commas(sql, index + 1) >= _OPTION_PLACE[name]:
        raise UnsupportedStatement(
            f"the function {name} is not accepted with options",
            detail="they can name a file (rowValidationXSDPath).",
        )


def _check_word(sql: SqlText, index: int) -> None:
    word = sql.lexemes[index].word
    after = sql.lexemes[index + 1] if index + 1 < len(sql.lexemes) else None
    if word == "TABLE":
        raise UnsupportedStatement(
            "TABLE is not accepted inside a query",
            detail=f"{place(sql.text, sql.lexemes[index].start)}.",
            hint="write SELECT * FROM name; a column called table goes into backticks.",
        )
    if word == "STREAM" and after is not None and (after.is_name or after.text == "("):
        raise UnsupportedStatement(
            "STREAM is not accepted inside a query", hint="a column called stream goes into backticks."
        )
    if word == "USING" and after is not None and after.kind is Kind.STRING:
        raise UnsupportedStatement("TRANSFORM … USING runs a program", hint="use Spark's functions.")


def _check_symbol(sql: SqlText, index: int) -> None:
    match sql.lexemes[index].text:
        case "|>":
            raise UnsupportedStatement(
                "the pipe syntax |> is not accepted", hint="write it as SELECT … FROM …."
            )
        case "?":
            raise UnsupportedStatement(
                "the parameter ? has no value", hint="write the value into the statement."
            )


def _next_text(sql: SqlText, index: int) -> str:
    return sql.lexemes[index + 1].text if index + 1 < len(sql.lexemes) else ""


def _count_commas(sql: SqlText, opening: int) -> int:
    """How many commas separate the arguments of the call whose bracket opens here."""
    depth = commas = 0
    for lexeme in sql.lexemes[opening:]:
        if lexeme.kind is not Kind.SYMBOL:
            continue
        depth += (lexeme.text in ("(", "[")) - (lexeme.text in (")", "]"))
        if depth == 0:
            break
        commas += depth == 1 and lexeme.text == ","
    return commas
