//! Generated structs in the compact form.

super::structs::convert!(compact);
