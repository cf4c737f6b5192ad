"""Names: checked once, folded once, refused with a code."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.errors import InvalidName
from anabranch.names import (
    DEFAULT_NAMESPACE,
    MAX_NAME_LENGTH,
    RESERVED,
    TableName,
    check_column_name,
)

PLAIN = st.from_regex(r"[a-z_][a-z0-9_]{0,30}", fullmatch=True).filter(
    lambda text: not text.startswith("__") and text not in RESERVED
)
LONGEST = "a" * MAX_NAME_LENGTH


@pytest.mark.parametrize(
    ("text", "namespace", "table", "shown"),
    [
        ("orders", "main", "orders", "orders"),
        ("Orders", "main", "orders", "orders"),
        ("main.orders", "main", "orders", "orders"),
        ("sales.Orders", "sales", "orders", "sales.orders"),
        ("_x", "main", "_x", "_x"),
        ("t1", "main", "t1", "t1"),
        (LONGEST, "main", LONGEST, LONGEST),
        (f"{LONGEST}.{LONGEST}", LONGEST, LONGEST, f"{LONGEST}.{LONGEST}"),
    ],
)
def test_a_name_is_a_table_or_a_namespace_and_a_table(text, namespace, table, shown):
    name = TableName.parse(text)
    assert name.as_tuple == (namespace, table)
    assert str(name) == shown


HOSTILE_TABLE_NAMES = [
    "",
    " ",
    "a b",
    " a",
    "a ",
    "a\n",
    "1a",
    "a-b",
    "a.b.c",
    ".",
    "..",
    "a.",
    ".a",
    "../a",
    "a/b",
    "a\\b",
    "/etc/passwd",
    'a"b',
    "a'b",
    "a`b",
    "`a`",
    "a;b",
    "a\0b",
    "ä",
    "ſ",
    "\u212a",
    "İ",
    "😀",
    "a" * 256,
    "a" * (MAX_NAME_LENGTH + 1),
    "a" * 100_000,
    "__hidden",
    "main.__hidden",
    "__hidden.a",
    "select",
    "Select",
    "sales.table",
    "table.sales",
    "{a}",
    "a$b",
    "%00",
    "a\u202eb",
]


@pytest.mark.parametrize("text", HOSTILE_TABLE_NAMES, ids=ascii)
def test_a_hostile_table_name_is_refused(text):
    with pytest.raises(InvalidName) as caught:
        TableName.parse(text)
    assert caught.value.code == "AB101"
    assert len(str(caught.value)) < 400
    assert str(caught.value).isascii()
    assert "\0" not in str(caught.value)


@pytest.mark.parametrize("value", [None, 7, b"orders", ["orders"], ("main", "orders")], ids=repr)
def test_a_table_name_that_is_no_text_is_refused(value):
    with pytest.raises(InvalidName):
        TableName.parse(value)


@pytest.mark.parametrize("word", sorted(RESERVED))
def test_a_reserved_word_is_refused_in_any_case_and_place(word):
    for text in (word, word.upper(), f"sales.{word}", f"{word}.sales"):
        with pytest.raises(InvalidName, match="reserved word"):
            TableName.parse(text)


@given(PLAIN, PLAIN)
def test_a_shown_name_reads_back(namespace, table):
    name = TableName(namespace, table)
    assert TableName.parse(str(name)) == name
    assert TableName.parse(str(name).upper()) == name


def test_a_parsed_name_is_taken_as_it_is():
    name = TableName("sales", "orders")
    assert TableName.parse(name) is name


def test_a_wrong_name_cannot_be_built():
    with pytest.raises(InvalidName):
        TableName("main", "Orders")
    with pytest.raises(InvalidName):
        TableName("", "orders")


def test_names_sort_by_namespace_and_then_table():
    texts = ["b.a", "a.b", "a", "z", "a.a"]
    assert [str(name) for name in sorted(map(TableName.parse, texts))] == ["a.a", "a.b", "b.a", "a", "z"]
    assert DEFAULT_NAMESPACE == "main"


@given(st.text(max_size=300))
def test_any_text_is_a_name_or_an_error_with_a_code(text):
    try:
        name = TableName.parse(text)
    except InvalidName:
        return
    assert name == TableName.parse(str(name))


# -- columns --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a", "A", "_a", "größe", "名前", "select", "a1", "x" * MAX_NAME_LENGTH])
def test_a_column_keeps_its_name(name):
    assert check_column_name(name) == name


@pytest.mark.parametrize(
    "name",
    [
        "",
        " ",
        "a b",
        "1a",
        "a.b",
        "a-b",
        "a`b",
        'a"b',
        "a'b",
        "a;b",
        "a/b",
        "..",
        "a\0b",
        "a\nb",
        "😀",
        "a\u0301",
        "__weight",
        "__",
        "x" * (MAX_NAME_LENGTH + 1),
        "{a}",
        None,
        7,
        b"a",
    ],
    ids=ascii,
)
def test_a_hostile_column_name_is_refused(name):
    with pytest.raises(InvalidName) as caught:
        check_column_name(name)
    assert str(caught.value).isascii()


def test_a_name_that_went_through_pickle_is_found_again():
    name = TableName("sales", "orders")
    copy = pickle.loads(pickle.dumps(name))
    assert "_hash" not in pickle.dumps(name).decode("latin-1")
    assert {name: 1}[copy] == 1
