"""The disclosures: from shares of the fitness to what the coordinator may learn."""
