"""Projects: definitions of tables in files, planned against a lake and applied to it in one commit."""

from anabranch.project.declared import stream_table as stream_table
from anabranch.project.plan import ProjectPlan as ProjectPlan
from anabranch.project.project import Project as Project
from anabranch.project.project import load as load
