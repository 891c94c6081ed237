"""The building blocks of the evolutionary search, one operator per file.

Every operator works on a whole batch: arrays and random words in, arrays out.
"""
