//! Static objects: what no collection moves or frees, and nobody changes.

use super::OutOfMemory;
use super::layout::{LOG, STATIC, Value};
use super::region::Region;

/// Static objects that live as long as this. They belong to no heap, so machines on several threads
/// may refer to them.
#[derive(Debug, Default)]
pub(crate) struct Statics {
    regions: Vec<Region>,
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
        let bytes = size_of_val(words);
        let region = Region::new(bytes).ok_or(OutOfMemory {
            request_bytes: bytes,
            live_bytes: 0,
            max_bytes: usize::MAX,
        })?;
        let object = region.start();
        // SAFETY: the region has room for as many words.
        unsafe {
            object.copy_from_nonoverlapping(words.as_ptr(), words.len());
            // Stores of references look at LOG first, and so come to where constants are refused.
            *object |= STATIC | LOG;
        }
        self.regions.push(region);
        Ok(Value::pointer(object))
    }
}
