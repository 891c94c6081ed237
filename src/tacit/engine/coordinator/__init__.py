"""The platform's side of the engine: asks the nodes and puts their answers together."""
