"""Whether nodes and platform did what was signed: logs and ledgers, checked and replayed."""
