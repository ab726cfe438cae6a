"""Job id -> bundle on disk: the only folder that may ask Slurm, open a connection, or read a user's files."""
