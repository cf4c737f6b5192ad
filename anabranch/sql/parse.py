"""Text to a sqlglot tree, once limits are kept and both lexers agree on what is quoted.

sqlglot may explode on hostile text (it tries `date(date(date(…)))` twice per level) and cuts some text
differently from Spark. So the parser's backtracking is bounded, the tree's depth is bounded, and its
tokens are held against our own lexemes before they are parsed.
"""

from __future__ import annotations

import re

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ParseError, SqlglotError
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import Token

from anabranch.errors import NotOneStatement, SqlSyntax, SqlTooLarge
from anabranch.sql.lexer import Kind, Lexeme, SqlText, lex, place
from anabranch.sql.recursion_limit import deep_recursion

MAX_TREE_DEPTH = 1_000
"""Chains such as a + b + c make deep trees too. Spark's own parser gives up somewhere below this."""

MAX_BACKTRACKING = 20_000
"""Tokens the parser may walk back over; ordinary statements need less than one per token."""

_PARSER_FAILURES = (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError)

_DOUBLED = {mark: re.compile(rf"(\\.)|{mark}{mark}", re.DOTALL) for mark in "'\""}


def parse_statement_ast(text: str) -> exp.Expr:
    """The tree of one statement."""
    return parse_lexemes(one_statement(lex(text)))


def parse_expression(text: str) -> exp.Expr:
    """The tree of one scalar expression: no statement, no alias, no star, no comment.

    >>> parse_expression("amount * 2").sql()
    'amount * 2'
    """
    sql = lex(text)
    if sql.had_comments:
        raise SqlSyntax("an expression can't contain a comment", detail=f"in {format_snippet(text)}.")
    if not sql.lexemes:
        raise SqlSyntax("an expression is empty")
    for lexeme in sql.lexemes:
        if lexeme.text == ";" and lexeme.kind is Kind.SYMBOL:
            raise NotOneStatement("an expression ends at a semicolon", detail=f"in {format_snippet(text)}.")
    tree = parse_lexemes(sql, into=exp.Condition)
    if isinstance(tree, exp.Star) or (isinstance(tree, exp.Column) and isinstance(tree.this, exp.Star)):
        raise SqlSyntax("a star is not an expression", detail=f"in {format_snippet(text)}.")
    if isinstance(tree, exp.Query) and not isinstance(tree, exp.Subquery):
        raise SqlSyntax(
            "a statement stands where an expression is expected",
            detail=f"{format_snippet(text)}.",
            hint="put a scalar subquery into parentheses.",
        )
    return tree


def one_statement(sql: SqlText) -> SqlText:
    """The text without trailing semicolons; `NotOneStatement` if nothing or more than one is left."""
    lexemes = list(sql.lexemes)
    while lexemes and lexemes[-1].text == ";":
        lexemes.pop()
    if not lexemes:
        raise NotOneStatement("there is no statement")
    for lexeme in lexemes:
        if lexeme.text == ";" and lexeme.kind is Kind.SYMBOL:
            raise NotOneStatement(
                "there is more than one statement",
                detail=f"the first one ends at {place(sql.text, lexeme.start)}.",
                hint="run them one by one, or in a transaction.",
            )
    return SqlText(sql.text[: lexemes[-1].end], tuple(lexemes), sql.had_comments)


def parse_lexemes(sql: SqlText, into: type[exp.Expr] | None = None) -> exp.Expr:
    """The tree of a text whose lexemes are known; offsets in its `meta` are offsets in `sql.text`."""
    try:
        with deep_recursion:
            dialect = Spark()
            dialect.STRICT_JSON_PATH_SYNTAX = False  # would only log what it can't read
            text = _escape_doubled_quotes(sql)
            tokens = dialect.tokenize(text)
            _check_agreement(tokens, sql)
            parser = _BoundedParser(dialect=dialect)
            found = parser.parse_into(into, tokens, text) if into else parser.parse(tokens, text)
    except RecursionError as error:
        raise SqlTooLarge("the SQL text is nested too deeply") from error
    except ParseError as error:
        raise _syntax_error(error, sql) from error
    # The parser indexes and unpacks what it reads; on malformed text that fails in ways of its own.
    except (SqlglotError, *_PARSER_FAILURES) as error:
        raise SqlSyntax("the SQL text can't be read", detail=f"{str(error)[:200]}") from error
    if len(found) != 1 or found[0] is None:
        raise NotOneStatement(
            "there is no statement" if not any(found) else "there is more than one statement"
        )
    _check_depth(found[0])
    return found[0]


def format_snippet(text: str) -> str:
    """A piece of SQL for an error message, shortened, on one line."""
    line = "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in " ".join(text.split()))
    return f'"{line}"' if len(line) <= 60 else f'"{line[:57]}..."'


class _BoundedParser(SparkParser):
    """Spark's parser, which stops when it has walked back too often."""

    __slots__ = ("_walked_back",)

    def _retreat(self, index: int) -> None:
        walked = getattr(self, "_walked_back", 0) + max(0, self._index - index)
        if walked > MAX_BACKTRACKING + 4 * self._tokens_size:
            raise SqlTooLarge("the SQL text is too complex", detail="calls are nested too deeply.")
        self._walked_back = walked
        super()._retreat(index)

    def _warn_unsupported(self) -> None:
        """What the parser doesn't know it would pass on unread; nothing is read that way here."""
        self.raise_error("not expected here")


def _check_agreement(tokens: list[Token], sql: SqlText) -> None:
    """The tokens cover every lexeme, and cut strings and quoted names where the lexemes do."""
    position = 0
    for lexeme in sql.lexemes:
        while position < len(tokens) and tokens[position].end < lexeme.start:
            position += 1
        if position == len(tokens) or tokens[position].start > lexeme.start:
            raise _disagreement_error(sql, lexeme)
        token = tokens[position]
        if lexeme.kind is Kind.STRING:
            prefix = lexeme.start - token.start  # the X of X'1F'
            if token.end + 1 != lexeme.end or prefix > 1:
                raise _disagreement_error(sql, lexeme)
        if lexeme.kind is Kind.QUOTED and (token.start, token.end + 1, token.text) != (
            lexeme.start,
            lexeme.end,
            lexeme.name,
        ):
            raise _disagreement_error(sql, lexeme)


def _escape_doubled_quotes(sql: SqlText) -> str:
    r"""The text with `''` inside strings written as `\'`, which means the same and is as long.

    For Spark a doubled quote is a quote; sqlglot would begin a second string there.
    """
    pieces: list[str] = []
    position = 0
    for lexeme in sql.lexemes:
        mark = lexeme.text[0]
        if lexeme.kind is Kind.STRING and mark in _DOUBLED and mark in lexeme.text[1:-1]:
            inner = _DOUBLED[mark].sub(lambda match: match[1] or f"\\{match[0][0]}", lexeme.text[1:-1])
            pieces += [sql.text[position : lexeme.start + 1], inner]
            position = lexeme.end - 1
    return "".join([*pieces, sql.text[position:]])


def _disagreement_error(sql: SqlText, lexeme: Lexeme) -> SqlSyntax:
    return SqlSyntax(
        "the SQL text can't be read without doubt",
        detail=f"at {place(sql.text, lexeme.start)}, near {format_snippet(lexeme.text)}.",
    )


def _syntax_error(error: ParseError, sql: SqlText) -> SqlSyntax:
    first = error.errors[0] if error.errors else {}
    word = str(first.get("highlight") or "")
    what = _plain_message(str(first.get("description") or str(error).splitlines()[0]))
    if first.get("line") is None:
        return SqlSyntax("the SQL text can't be read", detail=what)
    column = max(1, int(first["col"]) - len(word) + 1)
    near = f" near {format_snippet(word)}" if word else ""
    return SqlSyntax(
        f"the SQL text can't be read{near}",
        detail=f"line {first['line']}, column {column} of {format_snippet(sql.text)}: {what}.",
    )


def _plain_message(description: str) -> str:
    """The parser's complaint without the insides of the parser."""
    if description.startswith("Required"):
        return "something is missing"
    if description.startswith("Invalid expression"):
        return "not expected here"
    return description.partition(" but got ")[0][:200]


def _check_depth(tree: exp.Expr) -> None:
    """Runs of AND and of OR count once: Spark balances them."""
    pending: list[tuple[exp.Expr, int]] = [(tree, 1)]
    while pending:
        node, depth = pending.pop()
        if depth > MAX_TREE_DEPTH:
            raise SqlTooLarge(
                "the SQL text is nested too deeply",
                detail=f"an expression has more than {MAX_TREE_DEPTH} levels.",
                hint="split a long chain of operators with parentheses.",
            )
        for child in node.iter_expressions():
            flat = isinstance(child, exp.And | exp.Or) and type(child) is type(node)
            pending.append((child, depth if flat else depth + 1))
