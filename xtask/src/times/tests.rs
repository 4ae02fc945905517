use super::{Limit, Row, outside};

#[test]
fn a_limit_is_of_wall_time_or_of_cpu_time() {
    let row = |wall_s, cpu_s, limit| Row { what: "", wall_s, cpu_s, limit };
    assert!(row(3.1, 1.0, Limit::Wall(3)).misses());
    assert!(!row(3.0, 100.0, Limit::Wall(3)).misses());
    assert!(row(1.0, 8.1, Limit::Cpu(8)).misses());
    assert!(!row(100.0, 8.0, Limit::Cpu(8)).misses());
    assert!(!row(100.0, 100.0, Limit::None).misses());
}

#[test]
fn a_crate_of_others_counts_once() {
    let tree = "client v0.1.0 (/repo/client)\nprotos v0.1.0 (/repo/protos) (*)\n\n\
                bytes v1.12.1\nlibc v0.2.1\nbytes v1.12.1 (*)\n";
    assert_eq!(outside(tree), ["bytes v1.12.1", "libc v0.2.1"]);
}
