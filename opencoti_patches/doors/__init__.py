"""The only code that touches the machine: git, processes, the disk, the network."""
