//! Static objects: what no collection moves or frees, and nobody changes.

use super::OutOfMemory;
use super::layout::{LOG, STATIC, Value};
use super::region::Region;

/// Bytes of a block that constants share; a larger one has a block of its own.
const BLOCK_BYTES: usize = 16 << 10;

/// Static objects that live as long as this. They belong to no heap, so machines on several threads
/// may refer to them.
#[derive(Debug, Default)]
pub(crate) struct Statics {
    regions: Vec<Region>,
    /// Words of the last region that are taken.
    n_taken: usize,
}

// SAFETY: the regions are memory that nothing else owns.
unsafe impl Send for Statics {}
// SAFETY: objects are written before anybody else knows of them, and then only read: collections
// pass static objects over, and stores of programs look whether an object is static.
unsafe impl Sync for Statics {}

impl Statics {
    /// An object of these words. Its references are to such objects only.
    ///
    /// # Errors
    /// When the system has no memory for it.
    pub(crate) fn object(&mut self, words: &[u64]) -> Result<Value, OutOfMemory> {
        let object = self.room(words.len())?;
        // SAFETY: the region has room for as many words.
        unsafe {
            object.copy_from_nonoverlapping(words.as_ptr(), words.len());
            // Stores of references look at LOG first, and so come to where constants are refused.
            *object |= STATIC | LOG;
        }
        Ok(Value::pointer(object))
    }

    /// Room for so many words.
    fn room(&mut self, n_words: usize) -> Result<*mut u64, OutOfMemory> {
        let bytes = n_words * 8;
        let free = |region: &Region| region.bytes() - self.n_taken * 8;
        if self
            .regions
            .last()
            .is_none_or(|region| free(region) < bytes)
        {
            let block_bytes = bytes.max(BLOCK_BYTES);
            let region = Region::new(block_bytes).ok_or(OutOfMemory {
                request_bytes: block_bytes,
                live_bytes: 0,
                max_bytes: usize::MAX,
            })?;
            self.regions.push(region);
            self.n_taken = 0;
        }
        let start = self.regions[self.regions.len() - 1].start();
        let object = start.wrapping_add(self.n_taken);
        self.n_taken += n_words;
        Ok(object)
    }
}
