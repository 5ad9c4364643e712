"""Writing Cases, checking that they are well formed, and permuting them; the Cases stand in `pulsar.cases`."""
