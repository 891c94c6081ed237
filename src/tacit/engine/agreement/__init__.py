"""The agreement: its terms, drafting, checks, signatures, sealed rows and the search's seed."""
