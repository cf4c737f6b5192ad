"""The page about errors, made from their classes."""

from __future__ import annotations

from anabranch.errors import AnabranchError, every_error
from anabranch.remedies import remedy
from tools.pages.markdown_table import head, row

_INTRODUCTION = """\
# Errors

Made from `anabranch/errors.py` and `anabranch/remedies.py` by `make docs`.

Every error is an `ab.AnabranchError` with a `code`, a one-line `message` and, where useful, `detail` and
`hint`:

```python
try:
    lake.refresh_stream_table("by_day")
except ab.AnabranchError as error:
    print(error.code, error.message, error.detail, error.hint)
```

Codes never change their meaning and are never used again. The classes stand in `anabranch.errors`; the first
of each family is the base of the others, so that one `except` can take a family. Whatever is refused has
changed nothing. What is no error but worth knowing is a Python warning of class `ab.Notice`.
"""


def errors_page() -> str:
    """Every error by its code, family by family: what it means, and what to do."""
    lines = [_INTRODUCTION]
    for family in sorted(AnabranchError.__subclasses__(), key=lambda kind: kind.code):
        members = [kind for kind in every_error() if issubclass(kind, family)]
        lines += [f"## {family.code} to {members[-1].code}: {_meaning(family)}", ""]
        lines += head("code", "class", "meaning", "what to do")
        lines += [
            row(f"`{kind.code}`", f"`{kind.__name__}`", _meaning(kind) + ".", remedy(kind))
            for kind in members
        ]
        lines.append("")
    return "\n".join(lines)


def _meaning(kind: type[AnabranchError]) -> str:
    return (kind.__doc__ or "").strip().split("\n\n")[0].rstrip(".")
