"""Small disks for the data of a broker or a bookie, which fill up or refuse writes when a Case says so."""
