"""How answers are printed: tables and text for people, JSON and CSV for programs."""
