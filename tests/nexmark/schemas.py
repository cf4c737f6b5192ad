"""The tables of Nexmark."""

from __future__ import annotations

from collections.abc import Mapping

from anabranch.names import TableName
from anabranch.schema import Schema
from anabranch.sql.ddl import parse_schema

_DDL = {
    "person": """id BIGINT, name STRING, email_address STRING, credit_card STRING, city STRING, state STRING,
        date_time TIMESTAMP, extra STRING""",
    "auction": """id BIGINT, item_name STRING, description STRING, initial_bid BIGINT, reserve BIGINT,
        date_time TIMESTAMP, expires TIMESTAMP, seller BIGINT, category BIGINT, extra STRING""",
    "bid": """auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING, date_time TIMESTAMP,
        extra STRING""",
}

SCHEMAS: Mapping[TableName, Schema] = {TableName.parse(name): parse_schema(ddl) for name, ddl in _DDL.items()}
