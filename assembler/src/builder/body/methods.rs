//! Methods named by mnemonics. Each is [`Body::op`] with the operands counted by the compiler; a
//! test compares the list with the table.

use super::Body;
use crate::builder::BuildError;
use crate::builder::value::{Arg, IntoArgs, Var};

macro_rules! methods {
    (@result 0, $body:expr, $mnemonic:expr, $args:expr) => {
        $body.op($mnemonic, $args).map(|_| ())
    };
    (@result 1, $body:expr, $mnemonic:expr, $args:expr) => {
        $body.op_one($mnemonic, $args)
    };
    (@result 2, $body:expr, $mnemonic:expr, $args:expr) => {
        $body.op($mnemonic, $args).map(|results| [results[0], results[1]])
    };
    (@type 2) => { [Var; 2] };
    (@type 0) => { () };
    (@type 1) => { Var };
    ($( $count:tt: $( $name:ident ($($arg:ident),*) )+ ; )+) => {
        #[allow(clippy::new_ret_no_self, reason = "the op that makes a record is called `new`")]
        /// Ops by name. What each does, `docs/bytecode.md` says.
        impl Body {
            $( $(
                #[doc = concat!("Adds the op `", stringify!($name), "`.")]
                ///
                /// # Errors
                /// When an operand is not what its role wants.
                pub fn $name(
                    &mut self,
                    $($arg: impl Into<Arg>),*
                ) -> Result<methods!(@type $count), BuildError> {
                    let args: Vec<Arg> = vec![$($arg.into()),*];
                    methods!(@result $count, self, stringify!($name), args)
                }
            )+ )+
        }

        /// Each method's name, results and operands.
        #[cfg(test)]
        const METHODS: &[(&str, usize, usize)] = &[ $( $(
            (stringify!($name), $count, {
                const ARGS: &[&str] = &[$(stringify!($arg)),*];
                ARGS.len()
            }),
        )+ )+ ];
    };
}

methods! {
    2:
        int_of_str(src) float_of_str(src)
        add_carry(lhs, rhs, carry_in) sub_borrow(lhs, rhs, borrow_in);
    1:
        imm(value) to_imm(src) of_imm(src) data(constant) constant(constant)
        ld_gi(global) ld_gr(global) kind(src) sig(closure)
        mul_hi(lhs, rhs) umul_hi(lhs, rhs) tadd(lhs, rhs) tsub(lhs, rhs) tmul(lhs, rhs)
        find(src, part, index) hash(src) put_int(array, index, src) weak(src) ld_weak(weak)
        add(lhs, rhs) sub(lhs, rhs) mul(lhs, rhs) neg(src)
        add_ovf(lhs, rhs) sub_ovf(lhs, rhs) mul_ovf(lhs, rhs) neg_ovf(src)
        quot(lhs, rhs) rem(lhs, rhs) div(lhs, rhs) modulo(lhs, rhs) udiv(lhs, rhs) urem(lhs, rhs)
        and(lhs, rhs) or(lhs, rhs) xor(lhs, rhs) not(src)
        shl(lhs, rhs) shr(lhs, rhs) sar(lhs, rhs) sext(src, bits) zext(src, bits)
        popcount(src) clz(src) ctz(src)
        eq(lhs, rhs) ne(lhs, rhs) lt(lhs, rhs) le(lhs, rhs) ult(lhs, rhs) ule(lhs, rhs)
        feq(lhs, rhs) flt(lhs, rhs) fle(lhs, rhs)
        same(lhs, rhs) is_null(src) is_imm(src)
        fadd(lhs, rhs) fsub(lhs, rhs) fmul(lhs, rhs) fdiv(lhs, rhs)
        fneg(src) fabs(src) fsqrt(src) ffloor(src) fceil(src) ftrunc(src) fround(src)
        itof(src) ftoi(src) fsingle(src)
        new(tag, refs, ints) ld_r(record, field) ld_i(record, field) tag(record)
        new_r(length, fill) new_i(length, fill) new_f(length, fill) new_b(length, fill)
        get_r(array, index) get_i(array, index) get_f(array, index) get_b(array, index) len(array)
        cat(lhs, rhs) cmp(lhs, rhs) sub_str(src, index, count)
        str_of_int(src) str_of_float(src) str_of_bytes(src)
        cap_r(closure, field) cap_i(closure, field);
    0:
        st_gi(global, src) st_gr(global, src)
        st_cap_r(closure, field, src) st_cap_i(closure, field, src)
        fill_r(array, index, count, src) fill_i(array, index, count, src)
        fill_f(array, index, count, src) fill_b(array, index, count, src)
        jtlt(lhs, rhs, target) jtle(lhs, rhs, target)
        jtag(src, tag, target) jntag(src, tag, target) switch_tag(src, n_imms, targets)
        jstreq(lhs, rhs, target) jstrne(lhs, rhs, target)
        jmp(target)
        jeq(lhs, rhs, target) jne(lhs, rhs, target) jlt(lhs, rhs, target)
        jle(lhs, rhs, target) jgt(lhs, rhs, target) jge(lhs, rhs, target)
        jult(lhs, rhs, target) jule(lhs, rhs, target)
        jfeq(lhs, rhs, target) jfne(lhs, rhs, target) jflt(lhs, rhs, target)
        jfle(lhs, rhs, target) jfnlt(lhs, rhs, target) jfnle(lhs, rhs, target)
        jnull(src, target) jnonnull(src, target) jimm(src, target)
        jsame(lhs, rhs, target) jnsame(lhs, rhs, target)
        switch(index, targets)
        st_r(record, field, src) st_i(record, field, src)
        set_r(array, index, src) set_i(array, index, src)
        set_f(array, index, src) set_b(array, index, src)
        copy(dst, dst_index, src, src_index, count)
        raise(exception) match_fail();
}

impl Body {
    /// Adds the op `closure`: a closure of a function over these values.
    ///
    /// # Errors
    /// When a captured value is of the other class.
    pub fn new_closure(
        &mut self,
        function: crate::builder::FunctionId,
        refs: impl IntoArgs,
        ints: impl IntoArgs,
    ) -> Result<Var, BuildError> {
        let (refs, ints) = (refs.into_args(), ints.into_args());
        self.op_one("closure", [Arg::from(function), refs.into(), ints.into()])
    }
}

#[cfg(test)]
mod tests {
    use super::METHODS;
    use vm::isa::{Access, OPS, Opcode};

    /// Ops that are had by other methods than those of their names: `value` and `def`, `call` and
    /// its like, `new_closure`, and `op` for profiling ops that are written out.
    const OTHERS: [&str; 15] = [
        "mov",
        "rmov",
        "int",
        "float",
        "null",
        "text",
        "closure",
        "call",
        "call_closure",
        "call_host",
        "tail_call",
        "tail_call_closure",
        "ret",
        "enter",
        "leave",
    ];

    #[test]
    fn every_op_has_a_method() {
        let has_method = |name: &str| METHODS.iter().any(|&(method, ..)| method == name);
        for info in OPS {
            let name = info.mnemonic;
            // Constants become part of an op by themselves.
            let is_folded = name.ends_with("_imm");
            let is_known = has_method(name) != OTHERS.contains(&name);
            assert!(is_folded || is_known, "{name}");
        }
    }

    #[test]
    fn methods_have_the_operands_of_their_rows() {
        for &(name, n_results, n_args) in METHODS {
            let info = Opcode::from_mnemonic(name).map(Opcode::info);
            let info = info.unwrap_or_else(|| panic!("no op is called {name}"));
            let written = info.operands.iter();
            let written = written.filter(|operand| operand.role.access() == Access::Write);
            let written = written.count();
            let wanted = (written, info.operands.len() - written);
            assert_eq!((n_results, n_args), wanted, "{name}");
        }
    }
}
