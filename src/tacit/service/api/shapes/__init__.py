"""What the API takes and answers, by subject."""
