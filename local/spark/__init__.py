"""The Spark jobs of a laptop: one application under spark-submit."""
