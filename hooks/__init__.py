"""What starts a run: the command line now, Slurm's epilogs and the mail later. The only folder that knows all the others."""
