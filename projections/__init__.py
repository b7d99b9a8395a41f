"""The read models: each a table, what each event does to it, and the queries on it."""
