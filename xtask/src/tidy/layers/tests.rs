use super::used_modules;

#[test]
fn modules_are_found_alone_and_in_groups() {
    assert_eq!(used_modules("use crate::shm::page::Page;"), ["shm"]);
    assert_eq!(used_modules("let a = crate::ids::X(crate::time::Y);"), ["ids", "time"]);
    assert_eq!(used_modules("use crate::{ids, os::fd};"), ["ids", "os", ""]);
}
