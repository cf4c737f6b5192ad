"""Nexmark's rows, drawn from a seed: people who open auctions, and bids on them."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

import anabranch as ab
from anabranch.iceberg.type_mapping import to_arrow
from tests.nexmark.schemas import SCHEMAS

START = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
FIRST_PERSON, FIRST_AUCTION = 1000, 1000
CITIES = {
    "Portland": "OR",
    "Boise": "ID",
    "Los Angeles": "CA",
    "Phoenix": "AZ",
    "Cheyenne": "WY",
    "Kent": "WA",
}
CATEGORIES = range(10, 15)
CHANNELS = ["Apple", "Google", "Facebook", "Baidu"]

Row = dict[str, Any]


def generate(
    seed: int = 0, *, persons: int = 300, auctions: int = 800, bids: int = 5000
) -> Mapping[str, pa.Table]:
    """The three tables. No two bids agree in auction, bidder and time."""
    chance = random.Random(f"nexmark/{seed}")
    people = [person(chance, FIRST_PERSON + i, START + dt.timedelta(minutes=i)) for i in range(persons)]
    opened = [
        auction(chance, FIRST_AUCTION + i, chance.choice(people)["id"], START + dt.timedelta(minutes=i))
        for i in range(auctions)
    ]
    rows = {
        "person": people,
        "auction": opened,
        "bid": [_any_bid(chance, opened, people) for _ in range(bids)],
    }
    return {
        str(name): pa.Table.from_pylist(rows[str(name)], schema=to_arrow(schema))
        for name, schema in SCHEMAS.items()
    }


def load(lake: ab.Lake, contents: Mapping[str, pa.Table]) -> int:
    """Create the three tables with their rows, under one lsn."""
    with lake.transaction() as tx:
        for name, schema in SCHEMAS.items():
            tx.create_table(str(name), schema)
            tx.insert(str(name), contents[str(name)])
    assert tx.lsn is not None
    return tx.lsn


def person(chance: random.Random, number: int, at: dt.datetime) -> Row:
    """Somebody who lives somewhere."""
    city = chance.choice(list(CITIES))
    return {
        "id": number,
        "name": f"{chance.choice(['Ada', 'Bo', 'Chi', 'Dana', 'Eli'])} {number}",
        "email_address": f"{number}@example.com",
        "credit_card": f"{chance.randint(0, 10**16 - 1):016d}",
        "city": city,
        "state": CITIES[city],
        "date_time": at,
        "extra": f"p{number}",
    }


def auction(chance: random.Random, number: int, seller: int, at: dt.datetime) -> Row:
    """An auction that is open for some hours."""
    first = chance.randint(1, 100)
    return {
        "id": number,
        "item_name": f"item {number}",
        "description": f"as good as new, {chance.randint(1, 99)} years old",
        "initial_bid": first,
        "reserve": first + chance.randint(0, 100),
        "date_time": at,
        "expires": at + dt.timedelta(hours=chance.randint(1, 8)),
        "seller": seller,
        "category": chance.choice(CATEGORIES),
        "extra": f"a{number}",
    }


def bid(
    chance: random.Random, on: Row, bidder: int, *, in_time: bool = True, price: int | None = None
) -> Row:
    """A bid while an auction is open, or after that."""
    begin, end = (on["date_time"], on["expires"]) if in_time else (on["expires"], on["expires"] + HOUR)
    length = (end - begin) // dt.timedelta(microseconds=1)
    channel = chance.choice(CHANNELS)
    return {
        "auction": on["id"],
        "bidder": bidder,
        "price": on["initial_bid"] + chance.randint(1, 10_000) if price is None else price,
        "channel": channel,
        "url": f"https://example.com/{channel.lower()}/{on['id']}",
        "date_time": begin + dt.timedelta(microseconds=chance.randint(1, length - 1)),
        "extra": f"b{chance.randint(0, 10**6)}",
    }


HOUR = dt.timedelta(hours=1)


def _any_bid(chance: random.Random, opened: list[Row], people: list[Row]) -> Row:
    """Of five bids one is on one of a few auctions that everybody wants, one of twenty is late."""
    wanted = opened[::100] if chance.random() < 0.2 else opened
    return bid(chance, chance.choice(wanted), chance.choice(people)["id"], in_time=chance.random() > 0.05)
