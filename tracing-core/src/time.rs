//! Time as a value: all clocks of one instant.
