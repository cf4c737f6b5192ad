"""Opening the lake that a project file names."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from anabranch.project.config import Config, hide_secrets_in_errors
from anabranch.settings import ENVIRONMENT_PREFIX

if TYPE_CHECKING:
    from anabranch.lake import Lake


def connect_to(config: Config, *, using: Callable[..., Lake] | None = None, **overrides: Any) -> Lake:
    """Open the lake; `overrides` are arguments of `connect`."""
    settings = {
        key: value
        for key, value in config.settings.items()
        if ENVIRONMENT_PREFIX + key.upper() not in os.environ
    }
    given: dict[str, Any] = {"catalog": config.catalog, **settings}
    if config.spark and "spark" not in overrides:
        given["spark_options"] = config.spark
    location = overrides.pop("location", config.lake)
    with hide_secrets_in_errors(config.secrets):
        return (using or _connect)(location, **{**given, **overrides})


def _connect(location: str, **arguments: Any) -> Lake:
    # Here, because a project can be read without all that a lake brings.
    from anabranch.lake import connect

    return connect(location, **arguments)
