"""The settings of a lake as they are in force, and where each comes from."""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.connection.lake_context import LakeContext
from anabranch.listing import Listing
from anabranch.settings import SETTINGS, setting_text


@dataclass(frozen=True)
class SettingInfo:
    """One setting."""

    name: str
    value: str
    origin: str
    """`argument` of connect, `environment`, `lake` (stored in it) or `default`."""
    default: str
    meaning: str


def list_settings(context: LakeContext) -> list[SettingInfo]:
    """Every setting, by name."""
    return Listing(
        SettingInfo(
            name=name,
            value=_format_value(context.settings[name]),
            origin=context.settings.origin(name),
            default=setting.default,
            meaning=setting.meaning,
        )
        for name, setting in sorted(SETTINGS.items())
    )


def _format_value(value: object) -> str:
    """As it would be set: true, none."""
    return str(value).lower() if value is None or isinstance(value, bool) else setting_text(value)
