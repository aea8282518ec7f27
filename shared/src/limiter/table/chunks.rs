//! A list that grows without moving what it holds: no push copies more than one chunk.

/// A list in chunks. Its memory is that of its items, and at most one chunk more.
#[derive(Debug)]
pub(super) struct Chunks<T> {
    /// All full but the last, and none empty.
    chunks: Vec<Vec<T>>,
    len: usize,
}

impl<T> Chunks<T> {
    pub(super) fn new() -> Self {
        Self { chunks: Vec::new(), len: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn get(&self, index: usize) -> Option<&T> {
        self.chunks.get(index / CHUNK)?.get(index % CHUNK)
    }

    pub(super) fn get_mut(&mut self, index: usize) -> Option<&mut T> {
        self.chunks.get_mut(index / CHUNK)?.get_mut(index % CHUNK)
    }

    pub(super) fn push(&mut self, item: T) {
        match self.chunks.last_mut() {
            Some(last) if last.len() < CHUNK => last.push(item),
            // The first grows by itself, because many lists stay small.
            last => {
                let mut chunk = Vec::with_capacity(if last.is_some() { CHUNK } else { 1 });
                chunk.push(item);
                self.chunks.push(chunk);
            }
        }
        self.len = self.len.saturating_add(1);
    }

    /// Takes the item at `index` out; the last one takes its place.
    pub(super) fn swap_remove(&mut self, index: usize) -> Option<T> {
        if index >= self.len {
            return None;
        }
        let last = self.chunks.last_mut().and_then(Vec::pop)?;
        self.len = self.len.saturating_sub(1);
        self.chunks.pop_if(|chunk| chunk.is_empty());
        match self.get_mut(index) {
            Some(gap) => Some(core::mem::replace(gap, last)),
            None => Some(last),
        }
    }
}

/// Items of a chunk: 48 KB of a table's entries.
const CHUNK: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_in_chunks_equals_a_vector() {
        let (mut chunks, mut vector) = (Chunks::new(), Vec::new());
        for step in 0..6 * CHUNK {
            // Two pushes, then a removal from anywhere: over the edges of chunks, both ways.
            if step % 3 == 2 || step > 4 * CHUNK {
                let index = step * 7919 % vector.len().max(1);
                let removed = (index < vector.len()).then(|| vector.swap_remove(index));
                assert_eq!(chunks.swap_remove(index), removed);
            } else {
                chunks.push(step);
                vector.push(step);
            }
            assert_eq!(chunks.len(), vector.len());
            assert_eq!(chunks.get(vector.len()), None);
        }
        for (index, item) in vector.iter().enumerate() {
            assert_eq!(chunks.get(index), Some(item));
        }
        while let Some(item) = vector.pop() {
            assert_eq!(chunks.swap_remove(vector.len()), Some(item));
        }
        assert!(chunks.chunks.is_empty() && chunks.swap_remove(0).is_none());
    }
}
