"""The outside: the database, its schema, and how events get in and out of it."""
