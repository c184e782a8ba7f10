"""The heart: one lane's raw records to canonical events, or to where they can be tried again."""
