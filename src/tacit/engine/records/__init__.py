"""What is written down: nodes' logs, the coordinator's ledger, signed receipts."""
