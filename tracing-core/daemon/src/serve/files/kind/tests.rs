use super::keeps_in_memory;

#[test]
fn what_users_can_mount_is_in_memory() {
    // tmpfs, ramfs, hugetlbfs, overlayfs, FUSE; a number with a sign, as other processors have it.
    let in_memory =
        [0x0102_1994, 0x8584_58f6, 0x9584_58f6, 0x794c_7630, 0x6573_5546, 0xffff_ffff_9584_58f6];
    assert!(in_memory.into_iter().all(keeps_in_memory));
    // ext4, xfs, btrfs, NFS.
    let others = [0xef53, 0x5846_5342, 0x9123_683e, 0x6969];
    assert!(!others.into_iter().any(keeps_in_memory));
}
