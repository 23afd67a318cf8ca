"""The page of ``report --html``: its skeleton, style and script lie beside as files."""
