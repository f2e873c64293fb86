"""The parts of the runner of clients-test."""
