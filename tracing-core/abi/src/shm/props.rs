//! Random histories of one page against the obvious model: an array of states.
#![allow(unsafe_code)]

use proptest::prelude::*;

use super::*;
use crate::ids::{ChunkId, WriterId};

fn store(region: &Region, off: usize, bytes: &[u8]) -> bool {
    // SAFETY: one thread uses this memory.
    unsafe { region.store(off, bytes) }
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Partition(usize),
    Acquire(usize),
    Complete(usize),
    Read(usize),
    Free(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let idx = 0usize..15;
    prop_oneof![
        (0usize..5).prop_map(Step::Partition),
        idx.clone().prop_map(Step::Acquire),
        idx.clone().prop_map(Step::Complete),
        idx.clone().prop_map(Step::Read),
        idx.prop_map(Step::Free),
    ]
}

proptest! {
    #[test]
    fn a_page_is_an_array_of_states(steps in prop::collection::vec(step(), 0..120)) {
        let page_size = PageSize::DEFAULT;
        let smb = Smb::new(Region::heap(4096), page_size).unwrap();
        let reader = smb.reader().unwrap();
        let mut model: Option<(Layout, Vec<ChunkState>)> = None;
        let mut writing: Vec<Option<WritableChunk>> = (0..15).map(|_| None).collect();
        let mut taken: Vec<Option<ReadableChunk>> = (0..15).map(|_| None).collect();
        for step in steps {
            let state = |model: &Option<(Layout, Vec<ChunkState>)>, idx: usize| {
                model.as_ref().and_then(|(_, states)| states.get(idx).copied())
            };
            match step {
                Step::Partition(layout) => {
                    let layout = Layout::ALL[layout];
                    prop_assert_eq!(smb.try_partition(0, layout), model.is_none());
                    model.get_or_insert((layout, vec![ChunkState::Free; layout.chunk_count()]));
                }
                Step::Acquire(idx) => {
                    let header = ChunkHeader {
                        chunk: ChunkId::new(1),
                        writer: WriterId::new(1),
                        packets: Packets::default(),
                    };
                    let chunk = smb.try_acquire(0, idx, header);
                    prop_assert_eq!(chunk.is_some(), state(&model, idx) == Some(ChunkState::Free));
                    if let (Some(chunk), Some((_, states))) = (chunk, &mut model) {
                        states[idx] = ChunkState::BeingWritten;
                        writing[idx] = Some(chunk);
                    }
                }
                Step::Complete(idx) => {
                    if let (Some(chunk), Some((_, states))) = (writing[idx].take(), &mut model) {
                        prop_assert!(chunk.complete());
                        states[idx] = ChunkState::Complete;
                    }
                }
                Step::Read(idx) => {
                    let chunk = reader.try_read(0, idx);
                    let complete = state(&model, idx) == Some(ChunkState::Complete);
                    prop_assert_eq!(chunk.is_some(), complete);
                    if let (Some(chunk), Some((_, states))) = (chunk, &mut model) {
                        states[idx] = ChunkState::BeingRead;
                        taken[idx] = Some(chunk);
                    }
                }
                Step::Free(idx) => {
                    if let (Some(chunk), Some((_, states))) = (taken[idx].take(), &mut model) {
                        drop(chunk);
                        states[idx] = ChunkState::Free;
                        if states.iter().all(|state| *state == ChunkState::Free) {
                            model = None;
                        }
                    }
                }
            }
            let word = smb.page_hint(0);
            prop_assert_eq!(word.layout(), model.as_ref().map(|(layout, _)| *layout));
            for (idx, state) in model.iter().flat_map(|(_, states)| states.iter().enumerate()) {
                prop_assert_eq!(word.state(idx), *state);
            }
        }
    }

    /// Any words at all: nothing panics, nothing is read outside.
    #[test]
    fn forged_memory(words in prop::collection::vec((0usize..2048, any::<u32>()), 1..40)) {
        let smb = Smb::new(Region::heap(8192), PageSize::DEFAULT).unwrap();
        let mut reader = smb.reader().unwrap();
        for (at, word) in words {
            store(smb.region(), at * 4, &word.to_le_bytes());
            for page in 0..3 {
                for chunk in 0..15 {
                    let mut payload = Vec::new();
                    let seen = reader.scrape_chunk(page, chunk, &mut payload).is_some();
                    prop_assert_eq!(seen, !payload.is_empty());
                    prop_assert!(payload.len() <= 4080);
                    if chunk % 4 == 0 {
                        reader.read_chunk(page, chunk, &mut payload);
                    }
                }
            }
        }
    }
}
