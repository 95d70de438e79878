//! One op to its words.

use profiler::SourceId;

use super::Charge;
use super::lower::{Callee, Lowering};
use super::pack::Packed;
use crate::code::{Handler, Mode, signature_word};
use crate::heap::{ObjectKind, Value};
use crate::interp::handlers::record::list_words;
use crate::interp::handlers::{
    arithmetic as int, array, branch, call, charge, float, global, mode, record, reference, text,
};
use crate::isa::*;
use crate::module::Constant;

/// The operand of an `r` register: the `r` stack grows down.
pub(super) fn r(register: u8) -> u8 {
    u8::MAX - register
}

/// The generic handler with its parameters chosen at load.
macro_rules! twin {
    ($module:ident::$handler:ident, $first:expr) => {
        if $first {
            $module::$handler::<true> as crate::code::Handler
        } else {
            $module::$handler::<false>
        }
    };
    ($module:ident::$handler:ident, $first:expr, $second:expr) => {
        match ($first, $second) {
            (false, false) => $module::$handler::<false, false> as crate::code::Handler,
            (false, true) => $module::$handler::<false, true>,
            (true, false) => $module::$handler::<true, false>,
            (true, true) => $module::$handler::<true, true>,
        }
    };
}

/// The handler of the mode in which calls and returns are profiled, and of whether they count.
macro_rules! by_mode {
    ($module:ident::$handler:ident, $mode:expr) => {
        match $mode {
            Mode::Off => $module::$handler::<{ mode::OFF }> as crate::code::Handler,
            Mode::Current => $module::$handler::<{ mode::CURRENT }>,
            Mode::Stack => $module::$handler::<{ mode::STACK }>,
        }
    };
    ($module:ident::$handler:ident, $mode:expr, $counts:expr) => {
        match ($mode, $counts) {
            (Mode::Off, false) => $module::$handler::<{ mode::OFF }, false> as Handler,
            (Mode::Off, true) => $module::$handler::<{ mode::OFF }, true>,
            (Mode::Current, false) => $module::$handler::<{ mode::CURRENT }, false>,
            (Mode::Current, true) => $module::$handler::<{ mode::CURRENT }, true>,
            (Mode::Stack, false) => $module::$handler::<{ mode::STACK }, false>,
            (Mode::Stack, true) => $module::$handler::<{ mode::STACK }, true>,
        }
    };
}

pub(super) use by_mode;

/// The handler of whom its allocation is charged to.
macro_rules! by_charge {
    ($module:ident::$handler:ident, $charge:expr) => {
        match $charge {
            Charge::None => $module::$handler::<{ charge::NONE }> as Handler,
            Charge::Fixed => $module::$handler::<{ charge::FIXED }>,
            Charge::Published => $module::$handler::<{ charge::PUBLISHED }>,
        }
    };
}

/// The words of ops that are alike: what their roles do not say.
macro_rules! select_families {
    ($self:ident, $op:ident;
     plain { $($plain:ident => $plain_handler:path,)+ }
     allocate { $($allocate:ident => $allocate_handler:path,)+ }
     wide { $($wide_op:ident => $wide_handler:path,)+ }
     fill { $($fill:ident => $fill_handler:path, $fill_kind:ident,)+ }
     array { $($array:ident => $array_handler:path, $kind:ident,)+ }
     jump { $($jump:ident => $jump_module:ident::$jump_handler:ident,)+ }
     jump_imm {
         $($jump_imm:ident => $small_module:ident::$small:ident,
           $wide_module:ident::$wide:ident,)+
     }
     $($pattern:pat => $body:expr,)+) => {
        match $op {
            $( Op::$plain { .. } => $self.emit_packed($plain_handler, $op), )+
            $( Op::$allocate { .. } => {
                $self.publish_current();
                let Packed { letters, .. } = Packed::new($op);
                $self.emit($allocate_handler, letters, $self.header_source());
            } )+
            $( Op::$wide_op { dst, lhs, rhs } => {
                $self.emit($wide_handler, [dst.0, lhs.0, 0, 0], 0);
                $self.emit_data(rhs.0.to_bits(), 0);
            } )+
            $( Op::$fill { .. } => {
                let Packed { letters, .. } = Packed::new($op);
                let kind = ObjectKind::$fill_kind.header_byte();
                $self.emit($fill_handler, letters, kind as i32);
            } )+
            $( Op::$array { .. } => {
                $self.publish_current();
                let Packed { letters: [a, b, c, _], .. } = Packed::new($op);
                let kind = ObjectKind::$kind.header_byte();
                $self.emit($array_handler, [a, b, c, kind], $self.header_source());
            } )+
            $( Op::$jump { target, .. } => {
                let handler = twin!($jump_module::$jump_handler, $self.is_back(target.0));
                $self.emit_packed(handler, $op);
            } )+
            $( Op::$jump_imm { lhs, rhs, target } => {
                let back = $self.is_back(target.0);
                match i16::try_from(rhs.0) {
                    Ok(small) => {
                        let [low, high] = small.to_le_bytes();
                        let operands = [lhs.0, 0, low, high];
                        $self.emit_jump(twin!($small_module::$small, back), operands, target.0);
                    }
                    Err(_) => {
                        let handler = twin!($wide_module::$wide, back);
                        $self.emit_jump(handler, [lhs.0, 0, 0, 0], target.0);
                        $self.emit_data(rhs.0 as i64 as u64, 0);
                    }
                }
            } )+
            $( $pattern => $body, )+
        }
    };
}

impl Lowering<'_> {
    /// Writes the words of one op.
    pub(super) fn select(&mut self, op: &Op) {
        select_families! { self, op;
            plain {
                Mov => int::mov, RMov => int::rmov, ToImm => reference::to_imm,
                OfImm => reference::of_imm,
                Add => int::add, Sub => int::sub, Mul => int::mul, Neg => int::neg,
                AddImm => int::add_imm, MulImm => int::mul_imm, RSubImm => int::rsub_imm,
                AddOvf => int::add_ovf, SubOvf => int::sub_ovf, MulOvf => int::mul_ovf,
                NegOvf => int::neg_ovf, AddOvfImm => int::add_ovf_imm,
                MulOvfImm => int::mul_ovf_imm, RSubOvfImm => int::rsub_ovf_imm,
                AddCarry => int::add_carry, SubBorrow => int::sub_borrow,
                MulHi => int::mul_hi, UMulHi => int::umul_hi,
                Quot => int::quot, Rem => int::rem, Div => int::div, Modulo => int::modulo,
                UDiv => int::udiv, URem => int::urem,
                QuotImm => int::quot_imm, RemImm => int::rem_imm, DivImm => int::div_imm,
                ModuloImm => int::modulo_imm, UDivImm => int::udiv_imm, URemImm => int::urem_imm,
                And => int::and, Or => int::or, Xor => int::xor, Not => int::not,
                Shl => int::shl, Shr => int::shr, Sar => int::sar,
                AndImm => int::and_imm, OrImm => int::or_imm, XorImm => int::xor_imm,
                ShlImm => int::shl_imm, ShrImm => int::shr_imm, SarImm => int::sar_imm,
                Popcount => int::popcount, Clz => int::clz, Ctz => int::ctz,
                Eq => int::eq, Ne => int::ne, Lt => int::lt, Le => int::le,
                Ult => int::ult, Ule => int::ule,
                EqImm => int::eq_imm, NeImm => int::ne_imm, LtImm => int::lt_imm,
                LeImm => int::le_imm, GtImm => int::gt_imm, GeImm => int::ge_imm,
                Same => reference::same, IsNull => reference::is_null, IsImm => reference::is_imm,
                GetKind => reference::kind, GetSig => reference::sig,
                TAdd => reference::tadd, TSub => reference::tsub, TMul => reference::tmul,
                TAddImm => reference::tadd_imm,
                FEq => float::feq, FLt => float::flt, FLe => float::fle,
                FAdd => float::fadd, FSub => float::fsub, FMul => float::fmul, FDiv => float::fdiv,
                FNeg => float::fneg, FAbs => float::fabs, FSqrt => float::fsqrt,
                FFloor => float::ffloor, FCeil => float::fceil, FTrunc => float::ftrunc,
                FRound => float::fround, FSingle => float::fsingle,
                IToF => float::itof, FToI => float::ftoi,
                LdR => record::ld_r, LdI => record::ld_i, StR => record::st_r, StI => record::st_i,
                GetTag => record::tag, CapR => record::cap_r, CapI => record::cap_i,
                GetR => array::get_r, GetI => array::get_i, GetF => array::get_f,
                GetB => array::get_b, SetR => array::set_r, SetI => array::set_i,
                SetF => array::set_f, SetB => array::set_b, Len => array::len,
                GetRImm => array::get_r_imm, GetIImm => array::get_i_imm,
                GetFImm => array::get_f_imm, GetBImm => array::get_b_imm,
                SetRImm => array::set_r_imm, SetIImm => array::set_i_imm,
                SetFImm => array::set_f_imm, SetBImm => array::set_b_imm,
                StCapR => record::st_cap_r, StCapI => record::st_cap_i,
                Copy => array::copy, Cmp => text::cmp, Find => text::find, Hash => text::hash,
                PutInt => text::put_int,
                IntOfStr => text::int_of_str, FloatOfStr => text::float_of_str,
                LdGI => global::ld_gi, LdGR => global::ld_gr, StGI => global::st_gi,
                StGR => global::st_gr, LdWeak => record::ld_weak,
                Raise => call::raise, MatchFail => call::match_fail,
            }
            allocate {
                Cat => text::cat, SubStr => text::sub_str, StrOfInt => text::str_of_int,
                StrOfFloat => text::str_of_float, StrOfBytes => text::str_of_bytes,
            }
            wide {
                FAddImm => float::fadd_imm, FRSubImm => float::frsub_imm,
                FMulImm => float::fmul_imm, FDivImm => float::fdiv_imm,
                FRDivImm => float::frdiv_imm,
            }
            fill {
                FillR => array::fill, RefArray, FillI => array::fill, IntArray,
                FillF => array::fill, FloatArray, FillB => array::fill, ByteArray,
            }
            array {
                NewR => array::new_r, RefArray, NewI => array::new_i, IntArray,
                NewF => array::new_f, FloatArray, NewB => array::new_b, ByteArray,
            }
            jump {
                Jmp => branch::jmp,
                Jeq => branch::jeq, Jne => branch::jne, Jlt => branch::jlt,
                Jle => branch::jle, Jgt => branch::jgt, Jge => branch::jge,
                Jult => branch::jult, Jule => branch::jule,
                JFEq => branch::jfeq, JFNe => branch::jfne, JFLt => branch::jflt,
                JFLe => branch::jfle, JFNLt => branch::jfnlt, JFNLe => branch::jfnle,
                JNull => branch::jnull, JNonNull => branch::jnonnull, JImm => branch::jimm,
                JSame => branch::jsame, JNSame => branch::jnsame,
                JTLt => reference::jtlt, JTLe => reference::jtle,
                JTag => reference::jtag, JNTag => reference::jntag,
                JStrEq => text::jstreq, JStrNe => text::jstrne,
            }
            jump_imm {
                JeqImm => branch::jeq_imm, branch::jeq_wide,
                JneImm => branch::jne_imm, branch::jne_wide,
                JltImm => branch::jlt_imm, branch::jlt_wide,
                JleImm => branch::jle_imm, branch::jle_wide,
                JgtImm => branch::jgt_imm, branch::jgt_wide,
                JgeImm => branch::jge_imm, branch::jge_wide,
            }
            Op::Int { dst, value } => self.int(dst.0, value.0),
            Op::Float { dst, value } => self.int(dst.0, value.0.to_bits() as i64),
            Op::Null { dst } => self.constant(dst, Value::null()),
            Op::Imm { dst, value } => self.constant(dst, Value((value.0 as i64 as u64) << 1)),
            Op::Text { dst, constant } | Op::Constant { dst, constant } => {
                self.constant(dst, self.statics[constant.0 as usize]);
            },
            Op::Data { dst, constant } => self.data(dst.0, constant.0),
            Op::SExt { dst, src, bits } => self.emit(int::sext, [dst.0, src.0, 0, 0], 64 - bits.0),
            Op::ZExt { dst, src, bits } => self.emit(int::zext, [dst.0, src.0, 0, 0], 64 - bits.0),
            Op::Switch { index, targets } => {
                self.switch(branch::switch, [index.0, 0, 0, 0], &targets.0);
            },
            Op::SwitchTag { src, n_imms, targets } => {
                let [low, high] = n_imms.0.to_le_bytes();
                self.switch(reference::switch_tag, [r(src.0), 0, low, high], &targets.0);
            },
            Op::New { dst, tag, refs, ints } => self.new_record(dst.0, tag.0, &refs.0, &ints.0),
            Op::NewWeak { dst, src } => {
                let handler = by_charge!(record::weak, self.config.charge());
                self.emit(handler, [r(dst.0), r(src.0), 0, 0], self.header_source());
                self.emit_charged();
            },
            Op::Closure { dst, function, refs, ints } => {
                self.closure(dst.0, function.0, &refs.0, &ints.0);
            },
            Op::Call { function, ints, refs } => self.call(function.0, ints.0, refs.0),
            Op::CallClosure { closure, sig, ints, refs } => {
                self.call_closure(closure.0, sig.0, ints.0, refs.0);
            },
            Op::CallHost { .. } => {
                self.publish_current();
                self.emit_packed(call::call_host, op);
            },
            Op::TailCall { function } => self.tail_call(function.0),
            Op::TailCallClosure { closure, sig } => self.tail_call_closure(closure.0, sig.0),
            Op::Ret {} => self.emit(by_mode!(call::ret, self.config.mode()), [0; 4], 0),
            Op::Enter { source } => self.enter(SourceId(source.0)),
            Op::Leave { .. } => self.leave(),
        }
    }

    /// The word of an op whose operands stand where their roles say.
    fn emit_packed(&mut self, handler: Handler, op: &Op) {
        let packed = Packed::new(op);
        match packed.target {
            Some(target) => self.emit_jump(handler, packed.letters, target),
            None => self.emit(handler, packed.letters, packed.e),
        }
    }

    /// Publishes who is current before an op that allocates by a function, which charges whoever is
    /// published, where calls do not publish anybody.
    fn publish_current(&mut self) {
        if self.config.charge() == Charge::Fixed && self.config.mode() == Mode::Off {
            let node = self.current_node();
            self.emit(call::leave_node, [0; 4], 0);
            self.emit_nodes(node, node);
        }
    }

    fn int(&mut self, dst: u8, value: i64) {
        match i32::try_from(value) {
            Ok(small) => self.emit(int::int, [dst, 0, 0, 0], small),
            Err(_) => {
                self.emit(int::int_wide, [dst, 0, 0, 0], 0);
                self.emit_data(value as u64, 0);
            }
        }
    }

    fn constant(&mut self, dst: &ROut, value: Value) {
        self.emit(int::constant, [r(dst.0), 0, 0, 0], 0);
        self.emit_data(value.0, 0);
    }

    fn data(&mut self, dst: u8, constant: u32) {
        self.publish_current();
        let (kind, address, length) = match &self.module.constants[constant as usize] {
            Constant::Text(bytes) | Constant::Bytes(bytes) => {
                (ObjectKind::ByteArray, bytes.as_ptr(), bytes.len())
            }
            Constant::Ints(values) => (ObjectKind::IntArray, values.as_ptr().cast(), values.len()),
            Constant::Floats(values) => {
                (ObjectKind::FloatArray, values.as_ptr().cast(), values.len())
            }
            Constant::Refs(_) | Constant::Record { .. } | Constant::Closure { .. } => {
                unreachable!("the verifier lets `data` name arrays of numbers only")
            }
        };
        let operands = [r(dst), 0, 0, kind.header_byte()];
        self.emit(array::data, operands, self.header_source());
        self.emit_data(address.expose_provenance() as u64, length as u64);
    }

    /// A table of jumps stands behind the word, and behind it the op that comes next.
    fn switch(&mut self, handler: Handler, operands: [u8; 4], targets: &[u32]) {
        self.emit(handler, operands, targets.len() as i32);
        for &target in targets {
            self.emit_jump(branch::jmp::<false>, [0; 4], target);
        }
    }

    fn new_record(&mut self, dst: u8, tag: u16, refs: &[u8], ints: &[u8]) {
        macro_rules! small {
            ($($refs:literal, $ints:literal;)+) => {
                match (refs.len(), ints.len()) {
                    $( ($refs, $ints) => Some(match self.config.charge() {
                        Charge::None => record::new::<$refs, $ints, { charge::NONE }> as Handler,
                        Charge::Fixed => record::new::<$refs, $ints, { charge::FIXED }>,
                        Charge::Published => record::new::<$refs, $ints, { charge::PUBLISHED }>,
                    }), )+
                    _ => None,
                }
            };
        }
        let small = small! { 0, 0; 1, 0; 0, 1; 2, 0; 1, 1; 0, 2; 3, 0; 2, 1; 1, 2; 0, 3; };
        let list: Vec<u8> = refs
            .iter()
            .map(|&one| r(one))
            .chain(ints.iter().copied())
            .collect();
        match small {
            Some(handler) => {
                let mut operands = [r(dst), 0, 0, 0];
                operands[1..1 + list.len()].copy_from_slice(&list);
                self.emit(handler, operands, tag as i32 | self.header_source());
            }
            None => {
                let handler = by_charge!(record::new_any, self.config.charge());
                self.emit(
                    handler,
                    [r(dst), refs.len() as u8, ints.len() as u8, 0],
                    tag as i32 | self.header_source(),
                );
                self.emit_list(&list);
            }
        }
        self.emit_charged();
    }

    fn closure(&mut self, dst: u8, function: u32, refs: &[u8], ints: &[u8]) {
        let list: Vec<u8> = refs
            .iter()
            .map(|&one| r(one))
            .chain(ints.iter().copied())
            .collect();
        let handler = by_charge!(record::closure, self.config.charge());
        let (n_refs, n_ints) = (refs.len() as u8, ints.len() as u8);
        let counts = i32::from_le_bytes([n_refs, n_ints, 0, 0]) | self.header_source();
        self.emit(handler, [r(dst), n_refs, n_ints, 0], counts);
        let address = self.functions[function as usize].expose_provenance();
        self.emit_data(address as u64, 0);
        self.emit_list(&list);
        self.emit_charged();
    }

    /// The node that an allocation is charged to, when it is known.
    fn emit_charged(&mut self) {
        if self.config.charge() == Charge::Fixed {
            let node = self.current_node();
            self.emit_nodes(node, node);
        }
    }

    /// Data words that list operands.
    fn emit_list(&mut self, list: &[u8]) {
        let mut words = vec![0; list_words(list.len()) * 16];
        words[..list.len()].copy_from_slice(list);
        for word in words.chunks_exact(16) {
            let half = |at: usize| u64::from_ne_bytes(std::array::from_fn(|i| word[at + i]));
            self.emit_data(half(0), half(8));
        }
    }

    fn call(&mut self, function: u32, ints: u8, refs: u8) {
        if !self.is_profiled() {
            return self.emit_call(call::call, [ints, refs, 0, 0], function);
        }
        let callee = self.callee(function);
        let handler = by_mode!(call::call_profiled, callee.mode, callee.is_counted);
        self.emit_call(handler, [ints, refs, 0, 0], function);
        self.emit_callee(callee);
    }

    fn call_closure(&mut self, closure: u8, sig: Signature, ints: u8, refs: u8) {
        let operands = [ints, refs, r(closure), r(sig.ref_params)];
        let word = signature_word(sig) as i32;
        let handler = by_mode!(call::call_closure, self.config.mode(), self.config.counts());
        self.emit(handler, operands, word);
        match self.config.mode() {
            Mode::Stack => self.emit_context(SourceId::UNKNOWN),
            _ if self.is_profiled() => {
                let caller = self.current_node();
                self.emit_nodes(caller, caller);
            }
            _ => {}
        }
    }

    fn tail_call(&mut self, function: u32) {
        self.count_elided();
        if !self.is_profiled() {
            return self.emit_call(call::tail_call, [0; 4], function);
        }
        let callee = self.tail_callee(function, self.current_op);
        let handler = by_mode!(call::tail_call_profiled, callee.mode, callee.is_counted);
        self.emit_call(handler, [0; 4], function);
        self.emit_callee(callee);
    }

    fn tail_call_closure(&mut self, closure: u8, sig: Signature) {
        self.count_elided();
        let (mode, counts) = (self.config.mode(), self.config.counts());
        let handler = by_mode!(call::tail_call_closure, mode, counts);
        let operands = [0, 0, r(closure), r(sig.ref_params)];
        self.emit(handler, operands, signature_word(sig) as i32);
        if mode == Mode::Stack {
            self.emit_context(SourceId::UNKNOWN);
        }
    }

    fn enter(&mut self, source: SourceId) {
        let (mode, counts) = (self.config.mode(), self.config.counts());
        self.emit(by_mode!(call::enter_node, mode, counts), [0; 4], 0);
        let node = self.node(source);
        self.emit_callee(Callee {
            mode,
            source,
            node,
            caller: node,
            is_counted: counts,
        });
    }

    /// After a Leave the source below it is current again.
    fn leave(&mut self) {
        let stack = self.facts.stacks[self.current_op].expect("only reached ops are lowered");
        let (_, below) = self
            .facts
            .control_stacks
            .top(stack)
            .expect("the verifier found it open");
        if self.config.mode() == Mode::Stack {
            let way = self.contexts.way(below);
            self.emit(call::leave_context, [0; 4], 0);
            return self.emit_data(way.expose_provenance() as u64, 0);
        }
        let node = self.node_of(below);
        self.emit(call::leave_node, [0; 4], 0);
        self.emit_nodes(node, node);
    }
}
