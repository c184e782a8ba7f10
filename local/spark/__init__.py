"""The Spark jobs of a laptop: two applications under spark-submit."""
