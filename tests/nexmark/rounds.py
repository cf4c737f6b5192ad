"""Rounds of changes to Nexmark's tables: late bids, corrections, withdrawn auctions, people who move."""

from __future__ import annotations

import datetime as dt
import random

import pyarrow.compute as pc

from tests.nexmark.data import CATEGORIES, CITIES, HOUR, auction, bid, person
from tests.tpch.rounds import Contents, Draft, Keys, Round, Row

KEYS: Keys = {"person": ("id",), "auction": ("id",), "bid": ("auction", "bidder", "date_time")}
ASKED_FOR = {"OR": "Portland", "ID": "Boise", "CA": "Los Angeles"}
"""The states that q3 asks for, with a city each."""


def every_table(contents: Contents, number: int, share: float = 0.01, seed: int = 0) -> Round:
    """About a share of every table changes, and some rows that each of the queries asks for."""
    draft = Draft(contents, KEYS, random.Random(f"nexmark/{seed}/{number}"))
    for scene in SCENES:
        scene(draft, number, share)
    return draft.finish()


def _fewer_twins(draft: Draft, number: int, share: float) -> None:
    """Of the bids that an earlier round doubled, every other one stands alone again."""
    for row in draft.twins("bid")[::2]:
        draft.reinsert("bid", row)


def _most_wanted(draft: Draft, number: int, share: float) -> None:
    """q5: the auction with the most bids loses some, and another one gets as many as that one had."""
    counts = draft.contents["bid"].group_by("auction").aggregate([([], "count_all")])
    ranked = counts.sort_by([("count_all", "descending"), ("auction", "ascending")]).to_pylist()
    first, second = ranked[0], ranked[1]
    for row in draft.of("bid", "auction", [first["auction"]])[first["auction"]][:2]:
        draft.delete("bid", row)
    bidders = _some_people(draft)
    for on in draft.all("auction", pc.field("id") == second["auction"]):
        for _ in range(first["count_all"] - second["count_all"]):
            draft.insert("bid", bid(draft.chance, on, draft.chance.choice(bidders)))


def _highest_bid(draft: Draft, number: int, share: float) -> None:
    """q7: the highest bids were mistaken, or a higher one comes."""
    highest = pc.max(draft.contents["bid"]["price"]).as_py()
    if number % 2:
        for row in draft.all("bid", pc.field("price") == highest):
            draft.update("bid", row, price=row["price"] // 10)
    else:
        for on in draft.pick("auction", 1):
            draft.insert("bid", bid(draft.chance, on, _some_people(draft)[0], price=highest + 500))


def _every_123rd(draft: Draft, number: int, share: float) -> None:
    """q2: bids on auctions whose number 123 divides come, change and go."""
    asked_for = [n for n in draft.contents["auction"]["id"].to_pylist() if n % 123 == 0]
    found = draft.pick("bid", 3, pc.field("auction").isin(asked_for))
    for row in found[:2]:
        draft.update("bid", row, price=row["price"] + 1)
    for row in found[2:]:
        draft.delete("bid", row)
    for on in draft.all("auction", pc.field("id").isin(asked_for))[:2]:
        draft.insert("bid", bid(draft.chance, on, _some_people(draft)[0]))


def _people(draft: Draft, number: int, share: float) -> None:
    """People come, move, take another name, and leave their auctions behind."""
    inside = pc.field("state").isin(list(ASKED_FOR))
    sellers = pc.field("id").isin(pc.unique(draft.contents["auction"]["seller"]))
    for row in draft.pick("person", 2, inside & sellers):
        draft.update("person", row, city="Phoenix", state="AZ")
    for row in draft.pick("person", 2, ~inside & sellers):
        state = draft.chance.choice(list(ASKED_FOR))
        draft.update("person", row, city=ASKED_FOR[state], state=state)
    for row in draft.pick("person", draft.share("person", share)):
        city = draft.chance.choice(list(CITIES))
        draft.update("person", row, city=city, state=CITIES[city], name=f"{row['name']} jr")
    for row in draft.pick("person", 1):
        draft.delete("person", row)


def _newcomers(draft: Draft, number: int, share: float) -> None:
    """New people open auctions, on which others bid; one of them opens none."""
    bidders = _some_people(draft)
    for place in range(draft.share("person", share)):
        at = _newest(draft) + dt.timedelta(minutes=place)
        seller = person(draft.chance, draft.next_number("person", "id"), at)
        if place % 2 == 0:
            seller |= {"city": "Boise", "state": "ID"}
        draft.insert("person", seller)
        if place == 1:
            continue
        opened = auction(draft.chance, draft.next_number("auction", "id"), seller["id"], at)
        opened["category"] = 10 if place % 2 == 0 else opened["category"]
        draft.insert("auction", opened)
        for bidder in bidders[:4]:
            draft.insert("bid", bid(draft.chance, opened, bidder))


def _auctions(draft: Draft, number: int, share: float) -> None:
    """Auctions change their category, end earlier or later, change hands, or are withdrawn."""
    people = _some_people(draft)
    for place, row in enumerate(draft.pick("auction", draft.share("auction", share) + 4)):
        changes: list[Row] = [
            {"category": draft.chance.choice(CATEGORIES)},
            {"expires": row["date_time"] + (row["expires"] - row["date_time"]) / 2},
            {"expires": row["expires"] + 2 * HOUR},
            {"seller": draft.chance.choice(people)},
        ]
        draft.update("auction", row, **changes[place % len(changes)])
    with_bids, without_bids = draft.pick("auction", 1), draft.pick("auction", 1)
    for row in with_bids + without_bids:
        draft.delete("auction", row)
    for rows in draft.of("bid", "auction", (row["id"] for row in with_bids)).values():
        for row in rows:
            draft.delete("bid", row)


def _bids(draft: Draft, number: int, share: float) -> None:
    """Bids come, in time and late, are corrected, and are taken back; of some auctions the best one is."""
    count, bidders = draft.share("bid", share), _some_people(draft)
    for place, on in enumerate(draft.pick("auction", count)):
        draft.insert("bid", bid(draft.chance, on, draft.chance.choice(bidders), in_time=place % 4 > 0))
    for row in draft.pick("bid", count):
        draft.update("bid", row, price=max(1, row["price"] + draft.chance.randint(-2000, 2000)))
    for row in draft.pick("bid", max(1, count // 2)):
        draft.delete("bid", row)
    chosen = [row["id"] for row in draft.pick("auction", 4)]
    for place, rows in enumerate(draft.of("bid", "auction", chosen).values()):
        for row in sorted(rows, key=lambda row: row["price"])[-1:]:
            if place % 2:
                draft.delete("bid", row)
            else:
                draft.update("bid", row, price=row["price"] // 2)


def _nothing_and_copies(draft: Draft, number: int, share: float) -> None:
    """Rows are updated to themselves, removed and added again, and doubled."""
    for table in KEYS:
        for row in draft.pick(table, 1):
            draft.update(table, row)
        for row in draft.pick(table, 1):
            draft.reinsert(table, row)
    for row in draft.pick("bid", 4):
        draft.insert("bid", row)


SCENES = [
    _fewer_twins,
    _most_wanted,
    _highest_bid,
    _every_123rd,
    _people,
    _newcomers,
    _auctions,
    _bids,
    _nothing_and_copies,
]
"""What is aimed at a query comes before what is spread, so that it finds its rows undecided."""


def _some_people(draft: Draft) -> list[int]:
    """People who stay what they are in this round, as far as is known."""
    return [row["id"] for row in draft.pick("person", 10)]


def _newest(draft: Draft) -> dt.datetime:
    newest: dt.datetime = pc.max(draft.contents["auction"]["date_time"]).as_py()
    return newest + dt.timedelta(minutes=1)
