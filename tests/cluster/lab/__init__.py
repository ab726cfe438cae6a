"""A real Slurm cluster on one machine: three kernels, one network without a way out."""
