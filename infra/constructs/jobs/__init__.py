"""The Spark applications on Glue and EMR Serverless."""
