"""Other parameters of the queries, so that they find rows among few: TPC-DS lets its parameters be chosen."""

from __future__ import annotations

from collections.abc import Mapping

FEW_CUSTOMERS = {
    "c_customer_sk =": "c_customer_sk % 100 =",
    "ss_customer_sk\n": "ss_customer_sk % 100\n",
    "bill_customer_sk\n": "bill_customer_sk % 100\n",
}
FOR_FEW_ROWS: Mapping[str, Mapping[str, str]] = {
    "q03": {"i_manufact_id = 128": "i_manufact_id > 500"},
    "q04": FEW_CUSTOMERS | {"2001": "2000", "END > CASE": "END <> CASE"},
    "q08": {"HAVING count(*) > 10": "HAVING count(*) > 0", "IN ('24128'": "NOT IN ('24128'"},
    "q10": {"ca_county IN": "ca_county NOT IN", "BETWEEN 1 AND 1+3": "BETWEEN 1 AND 12"},
    "q11": FEW_CUSTOMERS,
    "q13": {"ca_state IN": "ca_state NOT IN", "hd_dep_count =": "hd_dep_count >="},
    "q16": {
        "ca_state = 'GA'": "ca_state <> 'GA'",
        "cs_warehouse_sk <> cs2.cs_warehouse_sk": "cs_ship_mode_sk <> cs2.cs_ship_mode_sk",
    },
    "q19": {"i_manager_id=8": "i_manager_id < 50"},
    "q23": {"HAVING count(*) >4": "HAVING count(*) > 1", "(50/100.0)": "(10/100.0)"},
    "q24": {"s_zip = ca_zip": "s_zip <> ca_zip", "s_market_id=8": "s_market_id > 0", "'peach'": "'slate'"},
    "q25": {"d_moy = 4": "d_moy > 4", "BETWEEN 4 AND 10": "BETWEEN 1 AND 12"},
    "q30": {"1.2": "0.5", "ca_state = 'GA'": "ca_state <> 'GA'"},
    "q31": {"ca_county": "ca_country", "END > CASE": "END <> CASE"},
    "q38": {"d_date\n": "d_year\n", "1200 + 11": "1200 + 60"},
    "q32": {"i_manufact_id = 977": "i_manufact_id > 500"},
    "q37": {"i_manufact_id IN": "i_manufact_id NOT IN"},
    "q39": {"END > 1)": "END > 0.1)"},
    "q41": {"738": "100", "+40": "+800"},
    "q44": {"ss_store_sk = 4": "ss_store_sk = 1"},
    "q49": {"> 10000": "> 100"},
    "q54": {
        "i_class = 'maternity'": "i_class <> 'maternity'",
        "ca_county = s_county": "ca_county <> s_county",
    },
    "q58": {"d_week_seq =": "d_week_seq >", "0.9": "0.1", "1.1": "9"},
    "q64": {
        "i_color IN": "i_color NOT IN",
        "BETWEEN 64": "BETWEEN 0",
        "+ 10\n": "+ 99\n",
        "+ 15\n": "+ 99\n",
    },
    "q65": {"<= 0.1": "<= 0.9"},
    "q73": {"cnt BETWEEN 1 AND 5": "cnt BETWEEN 1 AND 50"},
    "q74": FEW_CUSTOMERS,
    "q82": {"i_manufact_id IN": "i_manufact_id NOT IN"},
    "q83": {"d_date IN (": "d_date NOT IN ("},
    "q84": {"ca_city = 'Edgewood'": "ca_city <> 'Edgewood'"},
    "q85": {
        "ca_state IN": "ca_state NOT IN",
        "cd_education_status = '": "cd_education_status <> '",
        "BETWEEN 100.00": "BETWEEN 10.00",
        "BETWEEN 50 AND 250": "BETWEEN -5000 AND 2500",
    },
    "q88": {"'ese'": "'ought'"},
    "q90": {"BETWEEN 5000 AND 5200": "BETWEEN 100 AND 9000", "hd_dep_count = 6": "hd_dep_count > 1"},
    "q91": {
        "d_moy = 11": "d_moy > 1",
        "= 'Unknown')": "<> 'Unknown')",
        "ca_gmt_offset = -7": "ca_gmt_offset < 0",
    },
    "q92": {"i_manufact_id = 350": "i_manufact_id > 350"},
    "q93": {"'reason 28'": "'Package was damaged'"},
    "q94": {
        "ca_state = 'IL'": "ca_state <> 'IL'",
        "'pri'": "'cally'",
        "ws_warehouse_sk <> ws2.ws_warehouse_sk": "ws_ship_mode_sk <> ws2.ws_ship_mode_sk",
    },
    "q95": {
        "ca_state = 'IL'": "ca_state <> 'IL'",
        "'pri'": "'cally'",
        "ws_warehouse_sk <> ws2.ws_warehouse_sk": "ws_ship_mode_sk <> ws2.ws_ship_mode_sk",
    },
    "q96": {"'ese'": "'ought'"},
}
"""By query, what in its text is written otherwise."""


def substitute(name: str, text: str) -> str:
    """The text of a query with the parameters above."""
    for old, new in FOR_FEW_ROWS.get(name, {}).items():
        if old not in text:
            raise ValueError(f"{name} doesn't have {old!r}")
        text = text.replace(old, new)
    return text
