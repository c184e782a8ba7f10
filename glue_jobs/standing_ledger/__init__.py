"""What was accepted, held all the time against what ended in the lake or still waits."""
