//! A `Buf` of several chunks, as a connection receives them.

use std::collections::VecDeque;

use protozero::bytes::{Buf, BufMut, Bytes};

/// Chunks that share one allocation. None of them is empty.
#[derive(Clone, Debug)]
pub struct Chunks {
    chunks: VecDeque<Bytes>,
    /// Bytes of all chunks.
    len: usize,
}

impl Chunks {
    /// Cuts `whole` at these places.
    pub fn cut(whole: &Bytes, cuts: &[usize]) -> Self {
        let mut cuts = cuts.to_vec();
        cuts.sort_unstable();
        let mut rest = whole.clone();
        let mut chunks = VecDeque::new();
        for at in cuts {
            let before = whole.len() - rest.len();
            chunks.push_back(rest.split_to(at.clamp(before, whole.len()) - before));
        }
        chunks.push_back(rest);
        chunks.retain(|chunk| !chunk.is_empty());
        Self { chunks, len: whole.len() }
    }

    /// Takes `len` bytes of the first chunk.
    fn take_front(&mut self, len: usize) -> Bytes {
        let front = self.chunks.front_mut().expect("bytes behind the end");
        let bytes = front.split_to(len);
        if front.is_empty() {
            self.chunks.pop_front();
        }
        self.len -= len;
        bytes
    }
}

impl Buf for Chunks {
    fn remaining(&self) -> usize {
        self.len
    }

    fn chunk(&self) -> &[u8] {
        self.chunks.front().map_or(&[], |chunk| chunk)
    }

    fn advance(&mut self, mut len: usize) {
        while len > 0 {
            len -= self.take_front(len.min(self.chunk().len())).len();
        }
    }

    /// Without a copy, if these bytes lie in one chunk.
    fn copy_to_bytes(&mut self, len: usize) -> Bytes {
        if len <= self.chunk().len() && len > 0 {
            return self.take_front(len);
        }
        assert!(len <= self.len);
        let mut bytes = Vec::new();
        bytes.put(Buf::take(self, len));
        bytes.into()
    }
}

/// Whether `part` lies in the memory of `whole`.
pub fn lies_in(part: &[u8], whole: &[u8]) -> bool {
    let (part, whole) = (part.as_ptr_range(), whole.as_ptr_range());
    whole.start <= part.start && part.end <= whole.end
}
