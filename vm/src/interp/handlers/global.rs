//! Globals.

use crate::heap::Value;

handlers! {
    /// `i[a] = global e`
    fn ld_gi(m) {
        let w = m.word();
        m.set_i(w.a, *(*m.ctx).globals.ints.as_ptr().add(w.e as u32 as usize));
        m.next()
    }
    /// `r[a] = global e`
    fn ld_gr(m) {
        let w = m.word();
        m.set_r(w.a, Value(*(*m.ctx).globals.refs.as_ptr().add(w.e as u32 as usize)));
        m.next()
    }
    /// `global e = i[a]`
    fn st_gi(m) {
        let w = m.word();
        *(*m.ctx).globals.ints.as_mut_ptr().add(w.e as u32 as usize) = m.i(w.a);
        m.next()
    }
    /// `global e = r[a]`; a root, so that the heap need not be told
    fn st_gr(m) {
        let w = m.word();
        *(*m.ctx).globals.refs.as_mut_ptr().add(w.e as u32 as usize) = m.r(w.a).0;
        m.next()
    }
}
