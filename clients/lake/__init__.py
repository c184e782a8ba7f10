"""A view of each stream that has a schema: as SQL, in the Glue Data Catalog, and asked here."""
