//! Sites: what stands for ops, and for callers, in call stacks of memory profiles.

use std::collections::HashMap;

use super::Program;
use super::program::HALT;
use super::word::{Pc, Word};

/// The index of a word of the program, which stands for the word alone or for all words of its
/// function where the same source is current.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Site(pub(crate) u32);

/// Where a frame returns to, in as few bytes as tell it from all other words of the program: the
/// lower half of the word's address, for a program is smaller than that counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct ReturnTo(u32);

impl ReturnTo {
    pub(crate) fn new(return_pc: Pc) -> Self {
        Self(return_pc.addr() as u32)
    }

    /// Zero if the two are the same word.
    #[inline]
    pub(crate) fn differences(self, return_pc: Pc) -> u32 {
        self.0 ^ return_pc.addr() as u32
    }
}

/// The bit of a site that stands for more than one word. A program has fewer words than that: its
/// code is smaller than 2 GiB.
const CALLER_BIT: u32 = 1 << 31;

impl Site {
    /// No site: a callback's own frame is no call of the program.
    pub(crate) const NONE: Self = Self(u32::MAX);

    /// Whether the site stands for one word.
    pub(crate) fn is_exact(self) -> bool {
        self.0 & CALLER_BIT == 0
    }

    /// A word for which the site stands.
    fn index(self) -> usize {
        (self.0 & !CALLER_BIT) as usize
    }
}

/// The sites of callers: for each word the site of the call whose frame returns there. The first
/// table has one site for all calls of a function where the same source is current, the second one
/// for each call. Each is empty until it is asked for.
pub(crate) type CallerSites = [Vec<Site>; 2];

impl Program {
    /// The site of a word.
    pub(crate) fn site(&self, pc: Pc) -> Site {
        Site(self.index_of(pc) as u32)
    }

    /// The site of the call whose frame returns to a word. [`Program::tell_callers`] must have been
    /// called.
    #[inline]
    pub(crate) fn caller_site(&self, has_lines: bool, return_to: ReturnTo) -> Site {
        let distance = return_to.0.wrapping_sub(self.code.as_ptr().addr() as u32);
        self.caller_sites[has_lines as usize][distance as usize / size_of::<Word>()]
    }

    /// Makes the table of callers' sites, by op or by function, unless it is there. `None` for want
    /// of memory.
    #[inline]
    pub(crate) fn tell_callers(&mut self, has_lines: bool) -> Option<()> {
        if self.caller_sites[has_lines as usize].is_empty() {
            self.caller_sites[has_lines as usize] = self.make_caller_sites(has_lines)?;
        }
        Some(())
    }

    #[cold]
    #[inline(never)]
    fn make_caller_sites(&self, has_lines: bool) -> Option<Vec<Site>> {
        let mut sites = Vec::new();
        sites.try_reserve_exact(self.code.len()).ok()?;
        sites.extend((0..self.code.len() as u32).map(Site));
        if !has_lines {
            for function in &self.functions {
                let mut first_sites = HashMap::new();
                let words = sites.iter_mut().zip(&self.code).skip(function.start);
                for (site, word) in words.take(function.op_of_word.len()) {
                    first_sites.try_reserve(1).ok()?;
                    let source = self.source_at(word);
                    let first = Site(site.0 | CALLER_BIT);
                    *site = *first_sites.entry(source).or_insert(first);
                }
            }
        }
        // A call's frame returns to the word behind it.
        sites.rotate_right(1);
        // What calls a callback, or a function from Rust, is no call of the program.
        sites[self.callback_return] = Site::NONE;
        sites[HALT] = Site::NONE;
        Some(sites)
    }

    /// A word that a site stands for.
    pub(crate) fn pc_of_site(&self, site: Site) -> Option<Pc> {
        self.code.get(site.index()).map(std::ptr::from_ref)
    }

    /// The line of a site; 0 when it is not known, or when the site stands for several.
    pub(crate) fn line_of_site(&self, site: Site) -> u32 {
        let location = match site.is_exact() {
            true => self.pc_of_site(site).and_then(|pc| self.location(pc)),
            false => None,
        };
        let line = location.and_then(|location| {
            let function = &self.module.functions[location.function as usize];
            function.line_at(location.offset)
        });
        line.map_or(0, |entry| entry.line)
    }
}
