"""The list of what is maintained: every example does what the list says, and the docs say the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from anabranch.errors import AnabranchError, every_error
from anabranch.sql.lower import lower
from anabranch.sql.support import Feature, example_schemas, features, render_support_page

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("feature", features(), ids=lambda feature: feature.name)
def test_an_example_is_lowered_or_refused_as_the_list_says(feature: Feature) -> None:
    code = None
    try:
        lower(feature.example, example_schemas())
    except AnabranchError as error:
        code = error.code
    assert code == feature.code


def test_statuses_and_codes_agree() -> None:
    codes = {kind.code for kind in every_error()}
    for feature in features():
        assert feature.status in ("yes", "not yet", "never")
        assert (feature.code is None) == (feature.status == "yes")
        assert feature.code is None or feature.code in codes


def test_no_feature_stands_there_twice() -> None:
    names = [feature.name for feature in features()]
    assert len(names) == len(set(names))


def test_the_page_in_the_docs_is_up_to_date() -> None:
    assert (ROOT / "docs" / "sql-support.md").read_text() == render_support_page()
