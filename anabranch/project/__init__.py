"""Projects: definitions of tables in files, planned against a lake and applied to it in one commit."""

from typing import TYPE_CHECKING

from anabranch.lazy import lazy_module_getattr
from anabranch.project.decorator import stream_table as stream_table

if TYPE_CHECKING:
    from anabranch.project.plan import ProjectPlan as ProjectPlan
    from anabranch.project.project import Project as Project
    from anabranch.project.project import load as load
else:
    # Imported when first asked for: to find a project's lake, its tables need not be read.
    __getattr__ = lazy_module_getattr(
        __name__,
        {
            "ProjectPlan": "anabranch.project.plan",
            "Project": "anabranch.project.project",
            "load": "anabranch.project.project",
        },
    )
