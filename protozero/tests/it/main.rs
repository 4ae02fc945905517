//! The public face of protozero, as its users see it.
#![allow(missing_docs)]

mod derive;
