//! Static objects: what no collection moves or frees, and nobody changes.

use super::OutOfMemory;
use super::layout::{ObjectKind, STATIC, Value, array_bytes, array_header};
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
// pass static objects over, and programs cannot store into strings.
unsafe impl Sync for Statics {}

impl Statics {
    /// A string.
    ///
    /// # Errors
    /// When the system has no memory for it.
    pub(crate) fn text(&mut self, text: &[u8]) -> Result<Value, OutOfMemory> {
        let bytes = array_bytes(ObjectKind::Text, text.len()).unwrap_or(usize::MAX);
        let region = Region::new(bytes).ok_or(OutOfMemory {
            request_bytes: bytes,
            live_bytes: 0,
            max_bytes: usize::MAX,
        })?;
        let object = region.start();
        // SAFETY: the region has room for the header, the length and the padded bytes; the last
        // word is zeroed first, for the padding, and written again when it is the length's.
        unsafe {
            object.byte_add(bytes - 8).write(0);
            object.write(array_header(ObjectKind::Text) | STATIC);
            object.add(1).write(text.len() as u64);
            object
                .add(2)
                .cast::<u8>()
                .copy_from_nonoverlapping(text.as_ptr(), text.len());
        }
        self.regions.push(region);
        Ok(Value::pointer(object))
    }
}
