//! Signatures: the only types that bytecode has, beside the two register classes.

/// A signature: how many parameters and results of each class a function has.
///
/// Classes do not mix: the order of parameters across classes is a matter of the source text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Signature {
    /// Parameters that arrive in `i0..`.
    pub int_params: u8,
    /// Parameters that arrive in `r0..`.
    pub ref_params: u8,
    /// Results that leave in `i0..`.
    pub int_results: u8,
    /// Results that leave in `r0..`.
    pub ref_results: u8,
}

impl Signature {
    /// The first register after the parameters and results of the `i` class: what a call's `i`
    /// window needs, in registers.
    pub fn int_window(self) -> usize {
        self.int_params.max(self.int_results) as usize
    }

    /// What a call's `r` window needs, in registers. A closure call needs one more: the closure
    /// itself stands after the reference parameters.
    pub fn ref_window(self, is_closure: bool) -> usize {
        (self.ref_params as usize + is_closure as usize).max(self.ref_results as usize)
    }
}

impl std::fmt::Display for Signature {
    /// `(i, i, r) -> (i)`: integers first, then references.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let list = |ints: u8, refs: u8| {
            let names = std::iter::repeat_n("i", ints as usize);
            names
                .chain(std::iter::repeat_n("r", refs as usize))
                .collect::<Vec<_>>()
                .join(", ")
        };
        let params = list(self.int_params, self.ref_params);
        let results = list(self.int_results, self.ref_results);
        write!(f, "({params}) -> ({results})")
    }
}
