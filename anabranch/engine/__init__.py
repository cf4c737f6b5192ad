"""Where rows are computed."""
