//! Generated structs.

super::structs::convert!(schema);
