"""Small disks for the data of a broker or a bookie: they fill up, or take no writes any more, when a Case wants it."""
