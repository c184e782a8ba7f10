"""What things cost, measured. Each writes a file of numbers into ``build/bench``."""
