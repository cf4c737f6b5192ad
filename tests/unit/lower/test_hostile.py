"""Texts bent at random: each is a plan or a typed error, never anything else."""

from __future__ import annotations

import contextlib
import random

import pytest

from anabranch.errors import AnabranchError
from anabranch.sql.lexer import lex
from tests.unit.lower.corpus import queries
from tests.unit.lower.databases import lowered

NAMES = "a b c s x t.a t.b u.a u.c t u v w 1 NULL".split()
KINDS = (
    ("=", "<", "<>", ">="),
    ("+", "-", "*", "||"),
    ("AND", "OR"),
    ("JOIN", "LEFT JOIN", "FULL JOIN", "CROSS JOIN"),
    ("sum", "max", "count", "rank", "explode"),
    ("IN", "NOT IN", "LIKE"),
    ("UNION", "EXCEPT ALL", "INTERSECT"),
)


def _bent(text: str, chance: random.Random, pool: list[list[str]]) -> str:
    """One to three words replaced by others of their kind, or dropped, or a bracket's inside swapped."""
    words = [lexeme.text for lexeme in lex(text).lexemes]
    for _ in range(chance.randint(1, 3)):
        place = chance.randrange(len(words))
        word = words[place]
        kind = next((kind for kind in KINDS if word in kind), None)
        if kind is not None:
            words[place] = chance.choice(kind)
        elif word.lower() in NAMES:
            words[place] = chance.choice(NAMES)
        elif word == "(" and chance.random() < 0.7:
            words[place : _closing(words, place) + 1] = chance.choice(pool)
        elif chance.random() < 0.3 and len(words) > 1:
            del words[place]
    return " ".join(words)


def _closing(words: list[str], place: int) -> int:
    depth = 0
    for index in range(place, len(words)):
        depth += (words[index] == "(") - (words[index] == ")")
        if depth == 0:
            return index
    return len(words) - 1


def _brackets() -> list[list[str]]:
    found = []
    for text in queries():
        words = [lexeme.text for lexeme in lex(text).lexemes]
        found += [words[i : _closing(words, i) + 1] for i, word in enumerate(words) if word == "("]
    return found


@pytest.mark.parametrize("seed", range(4))
def test_a_bent_query_is_a_plan_or_a_typed_error(seed: int) -> None:
    chance = random.Random(seed)
    pool = _brackets()
    lowered_count = 0
    for _ in range(250):
        text = _bent(chance.choice(queries()), chance, pool)
        with contextlib.suppress(AnabranchError):
            found = lowered(text)
            lowered_count += 1
            assert len(found.columns) == len(found.plan.names), text
    assert lowered_count > 50
