"""Timeline -> diagnosis, and the library of failure signatures that it is read against."""
