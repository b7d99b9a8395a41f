"""What Alembic runs: the steps, on the connection and in the transaction that it was given."""

from alembic import context

context.configure(
    connection=context.config.attributes["connection"],
    transactional_ddl=False,  # the caller's transaction holds all the steps
)
context.run_migrations()
