"""Problem files in and out: JSON, CSV, .npy, TSPLIB."""
