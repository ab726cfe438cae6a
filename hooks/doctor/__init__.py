"""`denpex-collect doctor`: is this site ready, and how is each thing mended that is not?"""
