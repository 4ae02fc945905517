//! Generated code of every mix of API kinds, as the build script of a project elsewhere makes it.

#![deny(warnings)]
#![forbid(unsafe_code)]

/// For crates that use this schema.
pub use protozero;
pub use protozero_types;

macro_rules! mixes {
    ($($mix:ident)*) => {$(
        /// This mix of API kinds.
        pub mod $mix {
            include!(concat!(env!("OUT_DIR"), "/", stringify!($mix), "/mod.rs"));
        }
    )*};
}

mixes! { writer reader owned writer_reader writer_owned reader_owned service descriptor all }
mixes! { compact compact_mixed alone like_prost serde shared shared_compact view view_owned view_known }

/// The code that the two lines of the documentation generate.
pub mod lean {
    include!(concat!(env!("OUT_DIR"), "/mod.rs"));
}

/// The same with writers, readers and services.
pub mod plain {
    include!(concat!(env!("OUT_DIR"), "/plain/mod.rs"));
}

#[cfg(test)]
mod sharing;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod views;
