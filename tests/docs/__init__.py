"""Every page: its blocks run, compile or are read by what would read them; its links lead somewhere."""
