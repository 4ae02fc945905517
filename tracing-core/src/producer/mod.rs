//! The writing half of shared memory: arbiter and trace writers, without I/O.
