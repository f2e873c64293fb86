"""The modules of clients-test/run."""
