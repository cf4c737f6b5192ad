"""The service: the lake over HTTP, with its scheduler, a page, metrics and an Iceberg REST catalog."""

from anabranch.web.server import serve as serve
