use super::{depth_of, used_modules};

#[test]
fn modules_are_found_alone_and_in_groups() {
    assert_eq!(used_modules("use crate::shm::page::Page;", 1), ["shm"]);
    assert_eq!(used_modules("let a = crate::ids::X(crate::time::Y);", 1), ["ids", "time"]);
    assert_eq!(used_modules("use crate::{ids, os::fd};", 1), ["ids", "os", ""]);
    assert_eq!(used_modules("use super::super::session::X;", 2), ["session"]);
    assert!(used_modules("use super::super::ring::X;", 3).is_empty());
}

#[test]
fn files_know_their_depth() {
    assert_eq!(depth_of("tracing-core/service/src/buffer/mod.rs"), 1);
    assert_eq!(depth_of("tracing-core/service/src/buffer/ring.rs"), 2);
    assert_eq!(depth_of("tracing-core/service/src/buffer/v1/read/mod.rs"), 3);
}
