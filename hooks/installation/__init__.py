"""The hooks' files on a machine or in an image: put in place, checked, taken away."""
