//! The collector. A minor collection promotes what the nursery holds alive; a major one copies
//! all that lives into fresh blocks and frees the old ones. Both are one Cheney scan.

use std::time::Instant;

use super::allocate::Block;
use super::census::{Survivor, Tally};
use super::layout::*;
use super::{GcStress, Heap, OutOfMemory};

/// The old space grows to at least this size before a major collection.
const MIN_MAJOR_BYTES: usize = 32 << 20;
/// A major collection is due when the old space is this many times what the last one left.
const MAJOR_GROWTH: usize = 2;
/// Under stress, how many collections are minor before one is major.
const STRESS_MAJOR_EVERY: u32 = 16;
/// How many slots of a range are looked at before a collection looks whether the run is to end.
const SLOTS_BETWEEN_LOOKS: usize = 1 << 13;

/// What a collection does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Only the nursery is collected.
    Minor,
    /// The nursery, the old space and large objects are collected.
    Major,
}

/// Ranges of words that are references: the `r` stack, handles of the embedder.
pub(crate) type Roots<'a> = &'a mut [(*mut u64, usize)];

/// Where the scan of copied objects stands.
struct Scan {
    block: usize,
    position: *mut u64,
}

impl Heap {
    /// Collects so that `request_bytes` can be allocated, or says that they cannot. After an
    /// error the heap is of no further use.
    ///
    /// # Safety
    /// Each root range is readable and writable, its words obey invariant 1, and there are no
    /// other references into the heap that will be used again.
    pub(crate) unsafe fn collect(
        &mut self,
        request_bytes: usize,
        force: Option<Phase>,
        roots: Roots<'_>,
    ) -> Result<(), OutOfMemory> {
        let phase = force.unwrap_or_else(|| self.due_phase(request_bytes));
        // SAFETY: the caller's promise.
        unsafe { self.collect_phase(phase, roots)? };
        if phase == Phase::Minor && self.is_over_limit(request_bytes) {
            // SAFETY: the caller's promise; the first collection has updated the roots.
            unsafe { self.collect_phase(Phase::Major, roots)? };
        }
        if self.is_over_limit(request_bytes) {
            return Err(self.out_of_memory(request_bytes));
        }
        if request_bytes > super::SMALL_LIMIT_BYTES {
            // Had now, so that the allocation that asked cannot ask for ever.
            let region = super::region::Region::new(request_bytes);
            self.spare = Some(region.ok_or_else(|| self.out_of_memory(request_bytes))?);
        }
        self.reset_limit(request_bytes);
        Ok(())
    }

    fn due_phase(&mut self, request_bytes: usize) -> Phase {
        if self.config.stress == GcStress::On {
            self.stress_countdown = (self.stress_countdown + 1) % STRESS_MAJOR_EVERY;
            if self.stress_countdown == 0 {
                return Phase::Major;
            }
        }
        let nursery_bytes = self.top as usize - self.nursery.start() as usize;
        let request_bytes = if request_bytes > super::SMALL_LIMIT_BYTES {
            request_bytes
        } else {
            0
        };
        let after = self.old_bytes + self.large_bytes + nursery_bytes + request_bytes;
        if after > self.major_bytes() {
            Phase::Major
        } else {
            Phase::Minor
        }
    }

    /// The size of old space and large objects together at which a major collection is due.
    fn major_bytes(&self) -> usize {
        let room = self.config.max_bytes.saturating_sub(self.nursery.bytes());
        let wanted = match self.config.peak_percent {
            None => MIN_MAJOR_BYTES.max(self.live_bytes.saturating_mul(MAJOR_GROWTH)),
            // At least a nursery's worth, or every minor collection would be a major one.
            Some(percent) => {
                let growth = (self.live_bytes / 100).saturating_mul(percent as usize);
                let growth = growth.max(self.nursery.bytes());
                self.live_bytes.saturating_add(growth)
            }
        };
        wanted.min(room)
    }

    fn is_over_limit(&self, request_bytes: usize) -> bool {
        let large = if request_bytes > super::SMALL_LIMIT_BYTES {
            request_bytes
        } else {
            0
        };
        self.held_bytes().saturating_add(large) > self.config.max_bytes
    }

    /// Whether a large object of this size must wait for a collection.
    pub(super) fn is_large_due(&self, bytes: usize) -> bool {
        let held = self.old_bytes + self.large_bytes;
        let due = held.saturating_add(bytes) > self.major_bytes();
        // Right after a major collection the threshold is as high as it gets: the limit decides.
        let fresh = held <= self.live_bytes;
        (due && !fresh) || self.is_over_limit(bytes) || self.is_stress_due(bytes)
    }

    fn is_stress_due(&self, bytes: usize) -> bool {
        let allowed = self.hard_limit as usize - self.top as usize;
        self.config.stress == GcStress::On && allowed < bytes.min(super::SMALL_LIMIT_BYTES)
    }

    unsafe fn collect_phase(&mut self, phase: Phase, roots: Roots<'_>) -> Result<(), OutOfMemory> {
        let start = Instant::now();
        self.count_allocated();
        // The census is taken out so that the scan reads and writes nothing else for it.
        let mut census = self.census.take();
        // SAFETY: the caller's promise.
        let moved_bytes = unsafe {
            match (phase, &mut census) {
                (Phase::Minor, None) => self.minor(roots, &mut ()),
                (Phase::Minor, Some(census)) => self.minor(roots, &mut **census),
                (Phase::Major, None) => self.major(roots, &mut ()),
                (Phase::Major, Some(census)) => self.major(roots, &mut **census),
            }
        };
        self.census = census;
        let moved_bytes = moved_bytes?;
        self.empty_nursery();
        match phase {
            Phase::Minor => {
                self.stats.minor_collections += 1;
                self.stats.promoted_bytes += moved_bytes;
            }
            Phase::Major => {
                self.stats.major_collections += 1;
                self.stats.copied_bytes += moved_bytes;
                self.live_bytes = self.old_bytes + self.large_bytes;
                if let Some(census) = &mut self.census {
                    census.major_is_over();
                }
                self.stats.max_live_bytes = self.stats.max_live_bytes.max(self.live_bytes as u64);
            }
        }
        let held_bytes = (self.old_bytes + self.large_bytes) as u64;
        self.stats.max_held_bytes = self.stats.max_held_bytes.max(held_bytes);
        self.stats.count_pause(start.elapsed());
        if self.is_check_due(phase) {
            // SAFETY: the collection is over, and the roots are the caller's.
            unsafe { self.check(roots) };
        }
        Ok(())
    }

    /// Walking the heap costs more than collecting it, so debug builds check now and then.
    fn is_check_due(&self, phase: Phase) -> bool {
        let often = phase == Phase::Major || self.stats.minor_collections.is_multiple_of(64);
        (cfg!(debug_assertions) || self.config.stress == GcStress::On) && often
    }

    fn count_allocated(&mut self) {
        self.stats.allocated_bytes = self.allocated_bytes();
        self.counted = self.top;
    }

    fn empty_nursery(&mut self) {
        let start = self.nursery.start();
        if cfg!(debug_assertions) || self.config.stress == GcStress::On {
            let used = self.top as usize - start as usize;
            // SAFETY: from the nursery's start to its top is memory of ours, and nothing in it
            // is alive: a reference that was missed will be seen to point at rubbish.
            unsafe { start.cast::<u8>().write_bytes(POISON, used) };
        }
        self.top = start;
        self.counted = start;
        self.set_hard_limit(self.nursery.end());
    }

    /// Promotes what is alive in the nursery. Returns the bytes promoted.
    unsafe fn minor(
        &mut self,
        roots: Roots<'_>,
        tally: &mut impl Tally,
    ) -> Result<u64, OutOfMemory> {
        tally.starts(Phase::Minor);
        let mut scan = self.scan_from_here();
        let before = self.old_used_bytes();
        // SAFETY: the roots are the caller's; remembered objects and slots are outside the
        // nursery and alive or at least whole, because only major collections free them and
        // those clear the remembered set.
        unsafe {
            for &mut (start, length) in roots.iter_mut() {
                self.promote_range(start, length, tally)?;
            }
            for object in std::mem::take(&mut self.remembered) {
                *object |= LOG;
                let shape = shape_of(object);
                self.promote_range(object.add(shape.first_ref), shape.n_refs, tally)?;
            }
            for slot in std::mem::take(&mut self.remembered_slots) {
                self.promote_range(slot, 1, tally)?;
            }
            while let Some(object) = self.next_copied(&mut scan) {
                let shape = shape_of(object);
                self.promote_range(object.add(shape.first_ref), shape.n_refs, tally)?;
                scan.position = object.add(shape.words);
            }
        }
        // SAFETY: survivors of the nursery are forwarded, and it still stands.
        unsafe {
            self.tracked.minor_is_over();
            self.update_young_weak();
        }
        Ok(self.old_used_bytes() - before)
    }

    unsafe fn promote_range(
        &mut self,
        start: *mut u64,
        length: usize,
        tally: &mut impl Tally,
    ) -> Result<(), OutOfMemory> {
        if length > SLOTS_BETWEEN_LOOKS {
            return self.in_parts(start, length, |heap, start, length| {
                // SAFETY: the caller's range.
                unsafe { heap.promote_range(start, length, tally) }
            });
        }
        for index in 0..length {
            // SAFETY: the caller's range.
            let slot = unsafe { start.add(index) };
            // SAFETY: as above; the word is a reference.
            let Some(object) = Value(unsafe { *slot }).object() else {
                continue;
            };
            if self.nursery.contains(object) {
                // SAFETY: a pointer into the nursery is to an object or to what was one.
                unsafe { *slot = Value::pointer(self.evacuate(object, tally)?).0 };
            }
        }
        Ok(())
    }

    /// Copies all that lives to fresh blocks. Returns the bytes copied.
    unsafe fn major(
        &mut self,
        roots: Roots<'_>,
        tally: &mut impl Tally,
    ) -> Result<u64, OutOfMemory> {
        tally.starts(Phase::Major);
        let from = std::mem::take(&mut self.old);
        self.old_bytes = 0;
        self.remembered.clear();
        self.remembered_slots.clear();
        let mut scan = self.scan_from_here();
        let mut reached_large = Vec::new();
        // SAFETY: the roots are the caller's; `from` keeps the old blocks until the end.
        unsafe {
            for &mut (start, length) in roots.iter_mut() {
                self.copy_range(start, length, &mut reached_large, tally)?;
            }
            loop {
                if let Some(object) = self.next_copied(&mut scan) {
                    let shape = shape_of(object);
                    let first = object.add(shape.first_ref);
                    self.copy_range(first, shape.n_refs, &mut reached_large, tally)?;
                    scan.position = object.add(shape.words);
                } else if let Some(object) = reached_large.pop() {
                    let shape = shape_of(object);
                    let first = object.add(shape.first_ref);
                    self.copy_range(first, shape.n_refs, &mut reached_large, tally)?;
                } else {
                    break;
                }
            }
        }
        // SAFETY: survivors are forwarded or marked, and from-space still stands.
        unsafe {
            self.tracked.major_is_over();
            self.update_weak();
        }
        drop(from);
        self.sweep_large();
        Ok(self.old_used_bytes())
    }

    unsafe fn copy_range(
        &mut self,
        start: *mut u64,
        length: usize,
        reached_large: &mut Vec<*mut u64>,
        tally: &mut impl Tally,
    ) -> Result<(), OutOfMemory> {
        if length > SLOTS_BETWEEN_LOOKS {
            return self.in_parts(start, length, |heap, start, length| {
                // SAFETY: the caller's range.
                unsafe { heap.copy_range(start, length, reached_large, tally) }
            });
        }
        for index in 0..length {
            // SAFETY: the caller's range.
            let slot = unsafe { start.add(index) };
            // SAFETY: as above; the word is a reference.
            let Some(object) = Value(unsafe { *slot }).object() else {
                continue;
            };
            // SAFETY: a pointer is to an object's header, or to a forwarding address.
            let header = unsafe { *object };
            if header & 1 == 0 || header & (LARGE | STATIC) == 0 {
                // SAFETY: neither large nor static: the object lies in from-space.
                unsafe { *slot = Value::pointer(self.evacuate(object, tally)?).0 };
            } else if header & (LARGE | MARK) == LARGE {
                // SAFETY: large objects stay where they are until the sweep.
                unsafe {
                    let survivor = Survivor {
                        words: shape_of(object).words,
                        was_young: false,
                        is_moved: false,
                    };
                    *object = tally.survivor(header, survivor) | MARK;
                }
                reached_large.push(object);
            }
        }
        Ok(())
    }

    /// Hands a long range of slots over in parts, and looks between them whether the run is to end.
    #[cold]
    fn in_parts(
        &mut self,
        start: *mut u64,
        length: usize,
        mut part: impl FnMut(&mut Self, *mut u64, usize) -> Result<(), OutOfMemory>,
    ) -> Result<(), OutOfMemory> {
        for first in (0..length).step_by(SLOTS_BETWEEN_LOOKS) {
            if self.is_run_ending() {
                return Err(self.out_of_memory(0));
            }
            let n_slots = (length - first).min(SLOTS_BETWEEN_LOOKS);
            part(self, start.wrapping_add(first), n_slots)?;
        }
        Ok(())
    }

    /// The new address of an object in from-space, which is copied when it is first asked for.
    #[inline]
    unsafe fn evacuate<T: Tally>(
        &mut self,
        object: *mut u64,
        tally: &mut T,
    ) -> Result<*mut u64, OutOfMemory> {
        // SAFETY: the caller passes the address of an object or of a forwarded one.
        unsafe {
            let header = *object;
            if header & 1 == 0 {
                return Ok(header as *mut u64);
            }
            let words = shape_of(object).words;
            let copy = self.old_room(words)?;
            copy.copy_from_nonoverlapping(object, words);
            let survivor = Survivor {
                words,
                was_young: T::COUNTS && self.nursery.contains(object),
                is_moved: true,
            };
            *copy = tally.survivor(header, survivor) | LOG;
            *object = copy as u64;
            Ok(copy)
        }
    }

    fn scan_from_here(&self) -> Scan {
        match self.old.last() {
            Some(block) => Scan {
                block: self.old.len() - 1,
                position: block.top,
            },
            None => Scan {
                block: 0,
                position: std::ptr::null_mut(),
            },
        }
    }

    /// The next object that was copied and whose references have not been looked at.
    fn next_copied(&self, scan: &mut Scan) -> Option<*mut u64> {
        loop {
            let block: &Block = self.old.get(scan.block)?;
            if scan.position.is_null() {
                scan.position = block.region.start();
            }
            if (scan.position as usize) < block.top as usize {
                return Some(scan.position);
            }
            if scan.block + 1 == self.old.len() {
                return None;
            }
            scan.block += 1;
            scan.position = std::ptr::null_mut();
        }
    }

    fn old_used_bytes(&self) -> u64 {
        let used = |block: &Block| block.top as usize - block.region.start() as usize;
        self.old.iter().map(used).sum::<usize>() as u64
    }

    /// Frees the large objects that were not reached.
    fn sweep_large(&mut self) {
        self.large.retain(|large| {
            let object = large.region.start();
            // SAFETY: a large object lives as long as its region.
            let header = unsafe { &mut *object };
            let reached = *header & MARK != 0;
            *header = *header & !MARK | LOG;
            reached
        });
        self.large_bytes = self.large.iter().map(|large| large.region.bytes()).sum();
    }
}

/// What freed memory is overwritten with under stress: as a header it is a forwarding address
/// that points nowhere.
const POISON: u8 = 0x5a;

/// The shape of an object with a valid header.
///
/// # Safety
/// `object` is the start of an initialised object.
unsafe fn shape_of(object: *const u64) -> Shape {
    // SAFETY: the caller's promise; headers are written by the heap and the interpreter only, and
    // only with kinds that exist.
    unsafe { Shape::of(object, *object).unwrap_unchecked() }
}
