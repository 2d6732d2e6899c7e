"""The page that `tigris analyze --report` writes."""
