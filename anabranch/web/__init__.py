"""The service: scheduler, HTTP interface, page."""
