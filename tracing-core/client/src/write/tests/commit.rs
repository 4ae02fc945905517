//! Commits, entry by entry.

use protos::producer_port::Request;

use crate::write::commit::PendingCommit;
use crate::write::patches::FilledPatch;
use abi::ids::{BufferId, ChunkId, WriterId};
use abi::limits::PATCHES_PER_CHUNK_MAX;

/// Chunk, number of patches and `has_more_patches` of each entry.
fn entries(commit: &mut PendingCommit) -> Vec<(u32, usize, bool)> {
    let requests = commit.drain_requests(None);
    let entries = requests.into_iter().flat_map(|request| match request {
        Request::CommitData(commit) => commit.chunks_to_patch,
        _ => panic!("a request of another kind"),
    });
    entries
        .map(|entry| {
            (entry.chunk_id.unwrap(), entry.patches.len(), entry.has_more_patches.unwrap())
        })
        .collect()
}

#[test]
fn late_patches_are_grouped_by_their_chunks() {
    let mut commit = PendingCommit::with_capacity(4);
    let mut add = |chunk, has_more| {
        let patch = FilledPatch { chunk: ChunkId::new(chunk), offset: 8, data: [1; 4], has_more };
        commit.add_patch(BufferId::new(1), WriterId::new(1), patch);
    };
    (0..PATCHES_PER_CHUNK_MAX + 2).for_each(|_| add(1, true));
    add(1, false);
    add(2, true);
    let all = [(1, PATCHES_PER_CHUNK_MAX, true), (1, 3, false), (2, 1, true)];
    assert_eq!(entries(&mut commit), all);
    assert_eq!(entries(&mut commit), [], "it is empty afterwards");
}
