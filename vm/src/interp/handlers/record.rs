//! Records, closures and weak references.

use super::charge;
use crate::code::Pc;
use crate::heap::{
    HeaderSource, LOG, ObjectKind, STATIC, Value, WEAK_BYTES, closure_header, record_header,
};
use crate::machine::{Fault, Machine, is_writable};

handlers! {
    /// `r[a] = a record with tag e` and up to three fields: references first, from `b` on. (In all
    /// allocations the upper half of `e` is the source, when the heap is asked to keep it)
    fn new<const REFS: usize, const INTS: usize, const CHARGE: u8>(m) {
        let w = m.word();
        let bytes = 8 * (1 + REFS + INTS);
        let heap = &mut (*m.ctx).heap;
        let object = heap.top;
        let top = object.wrapping_byte_add(bytes);
        if top as usize > heap.limit as usize { return m.collect(bytes); }
        heap.top = top;
        *object = record_header(0, REFS as u8, INTS as u8) | (w.e as u32 as u64) << 32;
        let operands = [w.b, w.c, w.d];
        let mut field = 0;
        while field < REFS {
            *object.add(1 + field) = m.r(operands[field]).0;
            field += 1;
        }
        while field < REFS + INTS {
            *object.add(1 + field) = m.i(operands[field]);
            field += 1;
        }
        m.set_r(w.a, Value::pointer(object));
        go_on::<CHARGE>(m, 1, bytes)
    }
    /// `r[a] = a record with tag e`, `b` references and `c` integers; data words list registers
    fn new_any<const CHARGE: u8>(m) {
        let w = m.word();
        let (refs, ints) = (w.b as usize, w.c as usize);
        let bytes = 8 * (1 + refs + ints);
        let Some(object) = (*m.ctx).heap.try_small(bytes) else { return m.collect(bytes) };
        *object = record_header(0, w.b, w.c) | (w.e as u32 as u64) << 32;
        fill(m, object.add(1), refs, ints);
        m.set_r(w.a, Value::pointer(object));
        go_on::<CHARGE>(m, list_words(refs + ints) + 1, bytes)
    }
    /// `r[a] = a closure` of `b` references and `c` integers, which `e` says again for the header;
    /// the first data word holds the function, the next ones list registers
    fn closure<const CHARGE: u8>(m) {
        let w = m.word();
        let (refs, ints) = (w.b as usize, w.c as usize);
        let bytes = 8 * (2 + refs + ints);
        let heap = &mut (*m.ctx).heap;
        let object = heap.top;
        let top = object.wrapping_byte_add(bytes);
        if top as usize > heap.limit as usize { return m.collect(bytes); }
        heap.top = top;
        *object = closure_header(0, 0) | (w.e as u32 as u64) << 32;
        *object.add(1) = (*m.pc.add(1)).data.x;
        let at_list = Machine { pc: m.pc.add(1), ..m };
        fill(at_list, object.add(2), refs, ints);
        m.set_r(w.a, Value::pointer(object));
        go_on::<CHARGE>(m, list_words(refs + ints) + 2, bytes)
    }
    /// `r[a] = a weak reference to r[b]`
    fn weak<const CHARGE: u8>(m) {
        let w = m.word();
        let Some(object) = (*m.ctx).heap.try_weak(m.r(w.b), HeaderSource::of_operand(w.e)) else {
            return m.collect(WEAK_BYTES);
        };
        m.set_r(w.a, Value::pointer(object));
        go_on::<CHARGE>(m, 1, WEAK_BYTES)
    }
    /// `r[a] = what the weak reference r[b] refers to`
    fn ld_weak(m) {
        let w = m.word();
        match m.object(w.b, ObjectKind::Weak) {
            Some(weak) => { m.set_r(w.a, Value(*weak.add(1))); m.next() }
            None => m.fault(Fault::WrongKind),
        }
    }
    /// `r[a] = r[b].refs[c]`
    fn ld_r(m) {
        let w = m.word();
        match ref_field(m.r(w.b), w.c) {
            Some(slot) => { m.set_r(w.a, Value(*slot)); m.next() }
            None => m.fault(Fault::WrongKind),
        }
    }
    /// `i[a] = r[b].ints[c]`
    fn ld_i(m) {
        let w = m.word();
        match int_field(m.r(w.b), w.c) {
            Some(slot) => { m.set_i(w.a, *slot); m.next() }
            None => m.fault(Fault::WrongKind),
        }
    }
    /// `r[a].refs[b] = r[c]`
    fn st_r(m) {
        let w = m.word();
        let Some(slot) = ref_field(m.r(w.a), w.b) else { return m.fault(Fault::WrongKind) };
        if *m.r(w.a).object().unwrap_unchecked() & LOG != 0 {
            return m.enter(remember_st_r);
        }
        *slot = m.r(w.c).0;
        m.next()
    }
    /// The store of `st_r` into an object that is not remembered yet, or into a constant
    #[cold]
    #[inline(never)]
    fn remember_st_r(m) {
        let w = m.word();
        let object = m.r(w.a).object().unwrap_unchecked();
        if *object & STATIC != 0 { return m.fault(Fault::WrongKind); }
        let slot = object.add(1 + w.b as usize);
        (*m.ctx).heap.remember(object, slot);
        *slot = m.r(w.c).0;
        m.next()
    }
    /// `r[a].ints[b] = i[c]`
    fn st_i(m) {
        let w = m.word();
        match int_field(m.r(w.a), w.b) {
            Some(slot) if *m.r(w.a).object().unwrap_unchecked() & STATIC == 0 => {
                *slot = m.i(w.c);
                m.next()
            }
            _ => m.fault(Fault::WrongKind),
        }
    }
    /// `i[a] = the tag of r[b]`
    fn tag(m) {
        let w = m.word();
        match m.object(w.b, ObjectKind::Record) {
            Some(record) if !m.r(w.b).is_null() => {
                m.set_i(w.a, *record >> 32 & 0xffff);
                m.next()
            }
            _ => m.fault(Fault::WrongKind),
        }
    }
    /// `r[a] = r[b].captured refs[c]`
    fn cap_r(m) {
        let w = m.word();
        match m.object(w.b, ObjectKind::Closure) {
            Some(closure) if (w.c as u64) < *closure >> 32 & 0xff => {
                m.set_r(w.a, Value(*closure.add(2 + w.c as usize)));
                m.next()
            }
            _ => m.fault(Fault::WrongKind),
        }
    }
    /// `i[a] = r[b].captured ints[c]`
    fn cap_i(m) {
        let w = m.word();
        match m.object(w.b, ObjectKind::Closure) {
            Some(closure) if (w.c as u64) < *closure >> 40 & 0xff => {
                let refs = *closure >> 32 & 0xff;
                m.set_i(w.a, *closure.add(2 + refs as usize + w.c as usize));
                m.next()
            }
            _ => m.fault(Fault::WrongKind),
        }
    }
    /// `r[a].captured refs[b] = r[c]`
    fn st_cap_r(m) {
        let w = m.word();
        match m.r(w.a).object() {
            Some(closure) if is_writable(closure, ObjectKind::Closure)
                && (w.b as u64) < *closure >> 32 & 0xff =>
            {
                if *closure & LOG != 0 { return m.enter(remember_st_cap_r); }
                *closure.add(2 + w.b as usize) = m.r(w.c).0;
                m.next()
            }
            _ => m.fault(Fault::WrongKind),
        }
    }
    /// The store of `st_cap_r` into a closure that is not remembered yet
    #[cold]
    #[inline(never)]
    fn remember_st_cap_r(m) {
        let w = m.word();
        let closure = m.r(w.a).object().unwrap_unchecked();
        let slot = closure.add(2 + w.b as usize);
        (*m.ctx).heap.remember(closure, slot);
        *slot = m.r(w.c).0;
        m.next()
    }
    /// `r[a].captured ints[b] = i[c]`
    fn st_cap_i(m) {
        let w = m.word();
        match m.r(w.a).object() {
            Some(closure) if is_writable(closure, ObjectKind::Closure)
                && (w.b as u64) < *closure >> 40 & 0xff =>
            {
                let refs = *closure >> 32 & 0xff;
                *closure.add(2 + refs as usize + w.b as usize) = m.i(w.c);
                m.next()
            }
            _ => m.fault(Fault::WrongKind),
        }
    }
}

/// Charges an allocation and goes on behind the op's `words` words, and the one with the node.
#[inline(always)]
unsafe fn go_on<const CHARGE: u8>(m: Machine, words: usize, bytes: usize) -> Pc {
    // SAFETY: the loader writes as many words, and a node behind them when the handler reads it.
    unsafe {
        match CHARGE {
            charge::FIXED => {
                (*(*m.pc.add(words)).nodes.callee).charge_bytes(bytes as u64);
                m.skip(words + 1)
            }
            charge::PUBLISHED => {
                m.charge(bytes);
                m.skip(words)
            }
            _ => m.skip(words),
        }
    }
}

/// Registers that one data word can list.
const LISTED_PER_WORD: usize = 16;

/// Data words that list `count` registers.
pub(crate) fn list_words(count: usize) -> usize {
    count.div_ceil(LISTED_PER_WORD)
}

/// Writes the registers that are listed behind the word at `m.pc` to `fields`.
#[inline(always)]
unsafe fn fill(m: Machine, fields: *mut u64, refs: usize, ints: usize) {
    // SAFETY: the loader has listed `refs + ints` registers there, and `fields` has that room.
    unsafe {
        let list: *const u8 = m.pc.add(1).cast();
        for field in 0..refs {
            *fields.add(field) = m.r(*list.add(field)).0;
        }
        for field in refs..refs + ints {
            *fields.add(field) = m.i(*list.add(field));
        }
    }
}

/// The slot of a record's reference field. The header byte that counts them is zero in all other
/// kinds, so one comparison checks kind, null and bounds.
#[inline(always)]
pub(crate) unsafe fn ref_field(value: Value, field: u8) -> Option<*mut u64> {
    let object = value.object()?;
    // SAFETY: a pointer points to a header, and the record has the field when it counts it.
    unsafe {
        let n_refs = *object.cast::<u8>().add(2);
        (field < n_refs).then(|| object.add(1 + field as usize))
    }
}

/// The slot of a record's raw field; see [`ref_field`].
#[inline(always)]
pub(crate) unsafe fn int_field(value: Value, field: u8) -> Option<*mut u64> {
    let object = value.object()?;
    // SAFETY: as for `ref_field`.
    unsafe {
        let (n_refs, n_ints) = (*object.cast::<u8>().add(2), *object.cast::<u8>().add(3));
        (field < n_ints).then(|| object.add(1 + n_refs as usize + field as usize))
    }
}
