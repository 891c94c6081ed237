"""Algorithm or disclosure? Genetic algorithm and annealing, each under the same disclosures."""
