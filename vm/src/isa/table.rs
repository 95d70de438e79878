//! The one table of the instruction set. Everything that can be derived from it is: see the
//! sibling modules, each of which is one derivation.
//!
//! A row reads
//!
//! ```text
//! /// Register-transfer sentence, in the manual's words.
//! CODE mnemonic = Name { operand: Role, ... } [-> !] [: effect ...];
//! ```
//!
//! - `CODE` is the byte that stands in files. It never changes; new rows take free codes.
//! - The mnemonic is a Rust identifier, so that one token serves text, docs and code.
//! - The operand's type is its *role*: it says what the operand is and whether the op reads or
//!   writes it, and it owns its encoding, its text and its check (`operand.rs`).
//! - `-> !` marks ops after which control never reaches the next op.
//! - The effects say what the op may do besides writing its outputs and jumping to its targets
//!   (`effects.rs`). One that has none is *pure*.
//!
//! In the sentences `i[x]` is a register of 64 raw bits, `r[x]` a register holding a reference,
//! `f[x]` an `i` register read as an IEEE 754 double. An op *faults* by raising an exception that
//! the program can handle.

/// Calls the macro `$callback` with every row of the instruction set.
macro_rules! for_each_op {
    ($callback:ident) => {
        $callback! {
        // Moves and constants.
        /// `i[dst] = i[src]`.
        0x01 mov = Mov { dst: IOut, src: IIn }: moves;
        /// `r[dst] = r[src]`.
        0x02 rmov = RMov { dst: ROut, src: RIn }: moves;
        /// `i[dst] = value`.
        0x03 int = Int { dst: IOut, value: Int64 }: moves;
        /// `f[dst] = value`.
        0x04 float = Float { dst: IOut, value: Float64 }: moves;
        /// `r[dst] = null`.
        0x05 null = Null { dst: ROut }: moves;
        /// `r[dst] = immediate value`, a small constant that needs no heap.
        0x06 imm = Imm { dst: ROut, value: Int32 }: moves;
        /// `r[dst] = the string constant`. The string is shared and immutable.
        0x07 text = Text { dst: ROut, constant: ConstId }: moves;
        /// `r[dst] = a new array that holds the constant's elements`.
        0x08 data = Data { dst: ROut, constant: ConstId }: allocates;
        /// `r[dst] = the constant`, an object that is shared, immutable and never collected.
        0x0b constant = Constant { dst: ROut, constant: ConstId }: moves;

        // Globals, which all functions share and a machine keeps from run to run.
        /// `i[dst] = the global`.
        0x0c ld_gi = LdGI { dst: IOut, global: IntGlobal };
        /// `r[dst] = the global`.
        0x0d ld_gr = LdGR { dst: ROut, global: RefGlobal };
        /// `the global = i[src]`.
        0x0e st_gi = StGI { global: IntGlobal, src: IIn }: stores;
        /// `the global = r[src]`.
        0x0f st_gr = StGR { global: RefGlobal, src: RIn }: stores;

        // Immediates and registers.
        /// `r[dst] = immediate i[src]`; faults with overflow when 63 bits cannot hold it.
        0x09 to_imm = ToImm { dst: ROut, src: IIn }: faults;
        /// `i[dst] = the immediate in r[src]`; faults with wrong kind on null and heap objects.
        0x0a of_imm = OfImm { dst: IOut, src: RIn }: faults;

        // Wrapping 64-bit arithmetic.
        /// `i[dst] = i[lhs] + i[rhs]`, wrapping.
        0x10 add = Add { dst: IOut, lhs: IIn, rhs: IIn };
        /// `i[dst] = i[lhs] - i[rhs]`, wrapping.
        0x11 sub = Sub { dst: IOut, lhs: IIn, rhs: IIn };
        /// `i[dst] = i[lhs] * i[rhs]`, wrapping.
        0x12 mul = Mul { dst: IOut, lhs: IIn, rhs: IIn };
        /// `i[dst] = -i[src]`, wrapping.
        0x13 neg = Neg { dst: IOut, src: IIn };
        /// `i[dst] = i[lhs] + rhs`, wrapping.
        0x14 add_imm = AddImm { dst: IOut, lhs: IIn, rhs: Int32 };
        /// `i[dst] = i[lhs] * rhs`, wrapping.
        0x15 mul_imm = MulImm { dst: IOut, lhs: IIn, rhs: Int32 };
        /// `i[dst] = rhs - i[lhs]`, wrapping.
        0x16 rsub_imm = RSubImm { dst: IOut, lhs: IIn, rhs: Int32 };

        // Overflow-checked arithmetic.
        /// `i[dst] = i[lhs] + i[rhs]`; faults with overflow.
        0x18 add_ovf = AddOvf { dst: IOut, lhs: IIn, rhs: IIn }: faults;
        /// `i[dst] = i[lhs] - i[rhs]`; faults with overflow.
        0x19 sub_ovf = SubOvf { dst: IOut, lhs: IIn, rhs: IIn }: faults;
        /// `i[dst] = i[lhs] * i[rhs]`; faults with overflow.
        0x1a mul_ovf = MulOvf { dst: IOut, lhs: IIn, rhs: IIn }: faults;
        /// `i[dst] = -i[src]`; faults with overflow.
        0x1b neg_ovf = NegOvf { dst: IOut, src: IIn }: faults;
        /// `i[dst] = i[lhs] + rhs`; faults with overflow.
        0x1c add_ovf_imm = AddOvfImm { dst: IOut, lhs: IIn, rhs: Int32 }: faults;
        /// `i[dst] = i[lhs] * rhs`; faults with overflow.
        0x1d mul_ovf_imm = MulOvfImm { dst: IOut, lhs: IIn, rhs: Int32 }: faults;
        /// `i[dst] = rhs - i[lhs]`; faults with overflow.
        0x1e rsub_ovf_imm = RSubOvfImm { dst: IOut, lhs: IIn, rhs: Int32 }: faults;

        // Arithmetic of more than 64 bits.
        /// `i[dst] = i[lhs] + i[rhs] + the lowest bit of i[carry_in], i[carry] = what 64 bits
        /// cannot hold`, unsigned.
        0x17 add_carry = AddCarry { dst: IOut, carry: IOut, lhs: IIn, rhs: IIn, carry_in: IIn };
        /// `i[dst] = i[lhs] - i[rhs] - the lowest bit of i[borrow_in], i[borrow] = 1 if that is
        /// negative`, unsigned.
        0x1f sub_borrow = SubBorrow { dst: IOut, borrow: IOut, lhs: IIn, rhs: IIn, borrow_in: IIn };
        /// `i[dst] = the upper 64 of the 128 bits of i[lhs] * i[rhs]`, both signed.
        0x3e mul_hi = MulHi { dst: IOut, lhs: IIn, rhs: IIn };
        /// `i[dst] = the upper 64 of the 128 bits of i[lhs] * i[rhs]`, both unsigned.
        0x3f umul_hi = UMulHi { dst: IOut, lhs: IIn, rhs: IIn };

        // Division. Each faults with division by zero, and with overflow on `MIN / -1`.
        /// `i[dst] = i[lhs] / i[rhs]`, rounded to zero.
        0x20 quot = Quot { dst: IOut, lhs: IIn, rhs: IIn }: faults;
        /// `i[dst] = i[lhs] - i[rhs] * quot`, with the sign of `lhs`; `MIN rem -1` is 0.
        0x21 rem = Rem { dst: IOut, lhs: IIn, rhs: IIn }: faults;
        /// `i[dst] = i[lhs] / i[rhs]`, rounded to minus infinity.
        0x22 div = Div { dst: IOut, lhs: IIn, rhs: IIn }: faults;
        /// `i[dst] = i[lhs] - i[rhs] * div`, with the sign of `rhs`; `MIN mod -1` is 0.
        0x23 modulo = Modulo { dst: IOut, lhs: IIn, rhs: IIn }: faults;
        /// `i[dst] = i[lhs] / i[rhs]`, both unsigned.
        0x24 udiv = UDiv { dst: IOut, lhs: IIn, rhs: IIn }: faults;
        /// `i[dst] = i[lhs] mod i[rhs]`, both unsigned.
        0x25 urem = URem { dst: IOut, lhs: IIn, rhs: IIn }: faults;
        /// `i[dst] = i[lhs] / rhs`, rounded to zero.
        0x26 quot_imm = QuotImm { dst: IOut, lhs: IIn, rhs: Int32 }: faults;
        /// `i[dst] = i[lhs] rem rhs`, with the sign of `lhs`.
        0x27 rem_imm = RemImm { dst: IOut, lhs: IIn, rhs: Int32 }: faults;
        /// `i[dst] = i[lhs] / rhs`, rounded to minus infinity.
        0x3a div_imm = DivImm { dst: IOut, lhs: IIn, rhs: Int32 }: faults;
        /// `i[dst] = i[lhs] mod rhs`, with the sign of `rhs`.
        0x3b modulo_imm = ModuloImm { dst: IOut, lhs: IIn, rhs: Int32 }: faults;
        /// `i[dst] = i[lhs] / rhs`, both unsigned; the immediate is sign-extended.
        0x3c udiv_imm = UDivImm { dst: IOut, lhs: IIn, rhs: Int32 }: faults;
        /// `i[dst] = i[lhs] mod rhs`, both unsigned; the immediate is sign-extended.
        0x3d urem_imm = URemImm { dst: IOut, lhs: IIn, rhs: Int32 }: faults;

        // Bits and words. Shift counts are taken modulo 64.
        /// `i[dst] = i[lhs] & i[rhs]`.
        0x28 and = And { dst: IOut, lhs: IIn, rhs: IIn };
        /// `i[dst] = i[lhs] | i[rhs]`.
        0x29 or = Or { dst: IOut, lhs: IIn, rhs: IIn };
        /// `i[dst] = i[lhs] ^ i[rhs]`.
        0x2a xor = Xor { dst: IOut, lhs: IIn, rhs: IIn };
        /// `i[dst] = !i[src]`.
        0x2b not = Not { dst: IOut, src: IIn };
        /// `i[dst] = i[lhs] << i[rhs]`.
        0x2c shl = Shl { dst: IOut, lhs: IIn, rhs: IIn };
        /// `i[dst] = i[lhs] >> i[rhs]`, filling with zeros.
        0x2d shr = Shr { dst: IOut, lhs: IIn, rhs: IIn };
        /// `i[dst] = i[lhs] >> i[rhs]`, filling with the sign.
        0x2e sar = Sar { dst: IOut, lhs: IIn, rhs: IIn };
        /// `i[dst] = i[lhs] & rhs`, the immediate sign-extended.
        0x2f and_imm = AndImm { dst: IOut, lhs: IIn, rhs: Int32 };
        /// `i[dst] = i[lhs] | rhs`, the immediate sign-extended.
        0x30 or_imm = OrImm { dst: IOut, lhs: IIn, rhs: Int32 };
        /// `i[dst] = i[lhs] ^ rhs`, the immediate sign-extended.
        0x31 xor_imm = XorImm { dst: IOut, lhs: IIn, rhs: Int32 };
        /// `i[dst] = i[lhs] << rhs`.
        0x32 shl_imm = ShlImm { dst: IOut, lhs: IIn, rhs: Int32 };
        /// `i[dst] = i[lhs] >> rhs`, filling with zeros.
        0x33 shr_imm = ShrImm { dst: IOut, lhs: IIn, rhs: Int32 };
        /// `i[dst] = i[lhs] >> rhs`, filling with the sign.
        0x34 sar_imm = SarImm { dst: IOut, lhs: IIn, rhs: Int32 };
        /// `i[dst] = i[src] with only the low 'bits' bits, sign-extended`; `bits` is 1 to 64.
        0x35 sext = SExt { dst: IOut, src: IIn, bits: Int32 };
        /// `i[dst] = i[src] with only the low 'bits' bits, zero-extended`; `bits` is 1 to 64.
        0x36 zext = ZExt { dst: IOut, src: IIn, bits: Int32 };
        /// `i[dst] = the number of ones in i[src]`.
        0x37 popcount = Popcount { dst: IOut, src: IIn };
        /// `i[dst] = the number of leading zeros of i[src]`.
        0x38 clz = Clz { dst: IOut, src: IIn };
        /// `i[dst] = the number of trailing zeros of i[src]`.
        0x39 ctz = Ctz { dst: IOut, src: IIn };

        // Comparisons into a register: 1 when true, 0 when false.
        /// `i[dst] = i[lhs] == i[rhs]`.
        0x40 eq = Eq { dst: IOut, lhs: IIn, rhs: IIn };
        /// `i[dst] = i[lhs] != i[rhs]`.
        0x41 ne = Ne { dst: IOut, lhs: IIn, rhs: IIn };
        /// `i[dst] = i[lhs] < i[rhs]`, signed.
        0x42 lt = Lt { dst: IOut, lhs: IIn, rhs: IIn };
        /// `i[dst] = i[lhs] <= i[rhs]`, signed.
        0x43 le = Le { dst: IOut, lhs: IIn, rhs: IIn };
        /// `i[dst] = i[lhs] < i[rhs]`, unsigned.
        0x44 ult = Ult { dst: IOut, lhs: IIn, rhs: IIn };
        /// `i[dst] = i[lhs] <= i[rhs]`, unsigned.
        0x45 ule = Ule { dst: IOut, lhs: IIn, rhs: IIn };
        /// `i[dst] = i[lhs] == rhs`.
        0x4c eq_imm = EqImm { dst: IOut, lhs: IIn, rhs: Int32 };
        /// `i[dst] = i[lhs] != rhs`.
        0x4d ne_imm = NeImm { dst: IOut, lhs: IIn, rhs: Int32 };
        /// `i[dst] = i[lhs] < rhs`, signed.
        0x4e lt_imm = LtImm { dst: IOut, lhs: IIn, rhs: Int32 };
        /// `i[dst] = i[lhs] <= rhs`, signed.
        0x4f le_imm = LeImm { dst: IOut, lhs: IIn, rhs: Int32 };
        /// `i[dst] = i[lhs] > rhs`, signed.
        0x5e gt_imm = GtImm { dst: IOut, lhs: IIn, rhs: Int32 };
        /// `i[dst] = i[lhs] >= rhs`, signed.
        0x5f ge_imm = GeImm { dst: IOut, lhs: IIn, rhs: Int32 };
        /// `i[dst] = f[lhs] == f[rhs]`; false when either is not a number.
        0x46 feq = FEq { dst: IOut, lhs: IIn, rhs: IIn };
        /// `i[dst] = f[lhs] < f[rhs]`; false when either is not a number.
        0x47 flt = FLt { dst: IOut, lhs: IIn, rhs: IIn };
        /// `i[dst] = f[lhs] <= f[rhs]`; false when either is not a number.
        0x48 fle = FLe { dst: IOut, lhs: IIn, rhs: IIn };
        /// `i[dst] = r[lhs] is r[rhs]`: the same object, the same immediate, or both null.
        0x49 same = Same { dst: IOut, lhs: RIn, rhs: RIn };
        /// `i[dst] = r[src] is null`.
        0x4a is_null = IsNull { dst: IOut, src: RIn };
        /// `i[dst] = r[src] is an immediate`.
        0x4b is_imm = IsImm { dst: IOut, src: RIn };
        /// `i[dst] = what r[src] is`: 0 null, 1 an immediate, 2 a record, 3 a closure, 4 an array
        /// of references, 5 of integers, 6 of doubles, 7 of bytes, 8 a string, 9 a weak reference.
        0xd0 kind = GetKind { dst: IOut, src: RIn };
        /// `i[dst] = the signature of the closure r[closure]`: from the lowest byte on how many `i`
        /// parameters, `r` parameters, `i` results and `r` results; faults with wrong kind.
        0xd1 sig = GetSig { dst: IOut, closure: RIn }: faults;

        // Doubles.
        /// `f[dst] = f[lhs] + f[rhs]`.
        0x50 fadd = FAdd { dst: IOut, lhs: IIn, rhs: IIn };
        /// `f[dst] = f[lhs] - f[rhs]`.
        0x51 fsub = FSub { dst: IOut, lhs: IIn, rhs: IIn };
        /// `f[dst] = f[lhs] * f[rhs]`.
        0x52 fmul = FMul { dst: IOut, lhs: IIn, rhs: IIn };
        /// `f[dst] = f[lhs] / f[rhs]`.
        0x53 fdiv = FDiv { dst: IOut, lhs: IIn, rhs: IIn };
        /// `f[dst] = -f[src]`.
        0x54 fneg = FNeg { dst: IOut, src: IIn };
        /// `f[dst] = |f[src]|`.
        0x55 fabs = FAbs { dst: IOut, src: IIn };
        /// `f[dst] = the square root of f[src]`.
        0x56 fsqrt = FSqrt { dst: IOut, src: IIn };
        /// `f[dst] = f[src] rounded to minus infinity`.
        0x57 ffloor = FFloor { dst: IOut, src: IIn };
        /// `f[dst] = f[src] rounded to plus infinity`.
        0x58 fceil = FCeil { dst: IOut, src: IIn };
        /// `f[dst] = f[src] rounded to zero`.
        0x59 ftrunc = FTrunc { dst: IOut, src: IIn };
        /// `f[dst] = f[src] rounded to the nearest, ties to even`.
        0x5a fround = FRound { dst: IOut, src: IIn };
        /// `f[dst] = the signed integer i[src]`, rounded to the nearest double.
        0x5b itof = IToF { dst: IOut, src: IIn };
        /// `i[dst] = f[src] rounded to zero`; faults with overflow when 64 bits cannot hold it.
        0x5c ftoi = FToI { dst: IOut, src: IIn }: faults;
        /// `f[dst] = f[src] rounded to a single and back`.
        0x5d fsingle = FSingle { dst: IOut, src: IIn };
        /// `f[dst] = f[lhs] + rhs`.
        0xc0 fadd_imm = FAddImm { dst: IOut, lhs: IIn, rhs: Float64 };
        /// `f[dst] = rhs - f[lhs]`.
        0xc1 frsub_imm = FRSubImm { dst: IOut, lhs: IIn, rhs: Float64 };
        /// `f[dst] = f[lhs] * rhs`.
        0xc2 fmul_imm = FMulImm { dst: IOut, lhs: IIn, rhs: Float64 };
        /// `f[dst] = f[lhs] / rhs`.
        0xc3 fdiv_imm = FDivImm { dst: IOut, lhs: IIn, rhs: Float64 };
        /// `f[dst] = rhs / f[lhs]`.
        0xc4 frdiv_imm = FRDivImm { dst: IOut, lhs: IIn, rhs: Float64 };

        // Immediates. Each faults with wrong kind on what is no immediate, and with overflow when
        // 63 bits cannot hold the result.
        /// `r[dst] = the immediate r[lhs] + r[rhs]`.
        0xc8 tadd = TAdd { dst: ROut, lhs: RIn, rhs: RIn }: faults;
        /// `r[dst] = the immediate r[lhs] - r[rhs]`.
        0xc9 tsub = TSub { dst: ROut, lhs: RIn, rhs: RIn }: faults;
        /// `r[dst] = the immediate r[lhs] * r[rhs]`.
        0xca tmul = TMul { dst: ROut, lhs: RIn, rhs: RIn }: faults;
        /// `r[dst] = the immediate r[lhs] + rhs`.
        0xcb tadd_imm = TAddImm { dst: ROut, lhs: RIn, rhs: Int32 }: faults;
        /// `if the immediate r[lhs] < r[rhs] goto target`.
        0xcc jtlt = JTLt { lhs: RIn, rhs: RIn, target: Target }: faults;
        /// `if the immediate r[lhs] <= r[rhs] goto target`.
        0xcd jtle = JTLe { lhs: RIn, rhs: RIn, target: Target }: faults;

        // Jumps. A target is the offset of an op of the same function.
        /// `goto target`.
        0x60 jmp = Jmp { target: Target } -> !;
        /// `if i[lhs] == i[rhs] goto target`.
        0x61 jeq = Jeq { lhs: IIn, rhs: IIn, target: Target };
        /// `if i[lhs] != i[rhs] goto target`.
        0x62 jne = Jne { lhs: IIn, rhs: IIn, target: Target };
        /// `if i[lhs] < i[rhs] goto target`, signed.
        0x63 jlt = Jlt { lhs: IIn, rhs: IIn, target: Target };
        /// `if i[lhs] <= i[rhs] goto target`, signed.
        0x64 jle = Jle { lhs: IIn, rhs: IIn, target: Target };
        /// `if i[lhs] > i[rhs] goto target`, signed.
        0x65 jgt = Jgt { lhs: IIn, rhs: IIn, target: Target };
        /// `if i[lhs] >= i[rhs] goto target`, signed.
        0x66 jge = Jge { lhs: IIn, rhs: IIn, target: Target };
        /// `if i[lhs] < i[rhs] goto target`, unsigned.
        0x67 jult = Jult { lhs: IIn, rhs: IIn, target: Target };
        /// `if i[lhs] <= i[rhs] goto target`, unsigned.
        0x68 jule = Jule { lhs: IIn, rhs: IIn, target: Target };
        /// `if i[lhs] == rhs goto target`.
        0x69 jeq_imm = JeqImm { lhs: IIn, rhs: Int32, target: Target };
        /// `if i[lhs] != rhs goto target`.
        0x6a jne_imm = JneImm { lhs: IIn, rhs: Int32, target: Target };
        /// `if i[lhs] < rhs goto target`, signed.
        0x6b jlt_imm = JltImm { lhs: IIn, rhs: Int32, target: Target };
        /// `if i[lhs] <= rhs goto target`, signed.
        0x6c jle_imm = JleImm { lhs: IIn, rhs: Int32, target: Target };
        /// `if i[lhs] > rhs goto target`, signed.
        0x6d jgt_imm = JgtImm { lhs: IIn, rhs: Int32, target: Target };
        /// `if i[lhs] >= rhs goto target`, signed.
        0x6e jge_imm = JgeImm { lhs: IIn, rhs: Int32, target: Target };
        /// `if f[lhs] == f[rhs] goto target`.
        0x6f jfeq = JFEq { lhs: IIn, rhs: IIn, target: Target };
        /// `if not f[lhs] == f[rhs] goto target`.
        0x70 jfne = JFNe { lhs: IIn, rhs: IIn, target: Target };
        /// `if f[lhs] < f[rhs] goto target`.
        0x71 jflt = JFLt { lhs: IIn, rhs: IIn, target: Target };
        /// `if f[lhs] <= f[rhs] goto target`.
        0x72 jfle = JFLe { lhs: IIn, rhs: IIn, target: Target };
        /// `if not f[lhs] < f[rhs] goto target`.
        0x73 jfnlt = JFNLt { lhs: IIn, rhs: IIn, target: Target };
        /// `if not f[lhs] <= f[rhs] goto target`.
        0x74 jfnle = JFNLe { lhs: IIn, rhs: IIn, target: Target };
        /// `if r[src] is null goto target`.
        0x75 jnull = JNull { src: RIn, target: Target };
        /// `if r[src] is not null goto target`.
        0x76 jnonnull = JNonNull { src: RIn, target: Target };
        /// `if r[src] is an immediate goto target`.
        0x77 jimm = JImm { src: RIn, target: Target };
        /// `if r[lhs] is r[rhs] goto target`.
        0x78 jsame = JSame { lhs: RIn, rhs: RIn, target: Target };
        /// `if r[lhs] is not r[rhs] goto target`.
        0xd5 jnsame = JNSame { lhs: RIn, rhs: RIn, target: Target };
        /// `goto targets[i[index]]`, or to the next op when the index is outside the table.
        0x79 switch = Switch { index: IIn, targets: Targets };
        /// `if r[src] is a record with this tag goto target`.
        0xd2 jtag = JTag { src: RIn, tag: Tag, target: Target };
        /// `if r[src] is no record with this tag goto target`.
        0xd3 jntag = JNTag { src: RIn, tag: Tag, target: Target };
        /// `goto targets[n]`, where `n` is 0 for null, `1 + k` for an immediate `k` less than
        /// `n_imms`, and `1 + n_imms + t` for a record with tag `t`; to the next op for anything
        /// else.
        0xd4 switch_tag = SwitchTag { src: RIn, n_imms: Tag, targets: Targets };

        // Records: up to 255 reference fields and 255 raw fields, and a tag.
        /// `r[dst] = a new record with this tag and these fields`.
        0x80 new = New { dst: ROut, tag: Tag, refs: RRegs, ints: IRegs }: allocates;
        /// `r[dst] = r[record].refs[field]`; faults with wrong kind.
        0x81 ld_r = LdR { dst: ROut, record: RIn, field: Field }: faults;
        /// `i[dst] = r[record].ints[field]`; faults with wrong kind.
        0x82 ld_i = LdI { dst: IOut, record: RIn, field: Field }: faults;
        /// `r[record].refs[field] = r[src]`; faults with wrong kind.
        0x83 st_r = StR { record: RIn, field: Field, src: RIn }: faults stores;
        /// `r[record].ints[field] = i[src]`; faults with wrong kind.
        0x84 st_i = StI { record: RIn, field: Field, src: IIn }: faults stores;
        /// `i[dst] = the tag of r[record]`; faults with wrong kind.
        0x85 tag = GetTag { dst: IOut, record: RIn }: faults;

        // Arrays. Indices count from 0; outside the array they fault with index out of bounds.
        /// `r[dst] = a new array of i[length] references, each r[fill]`.
        0x88 new_r = NewR { dst: ROut, length: IIn, fill: RIn }: faults allocates;
        /// `r[dst] = a new array of i[length] integers, each i[fill]`.
        0x89 new_i = NewI { dst: ROut, length: IIn, fill: IIn }: faults allocates;
        /// `r[dst] = a new array of i[length] doubles, each f[fill]`.
        0x8a new_f = NewF { dst: ROut, length: IIn, fill: IIn }: faults allocates;
        /// `r[dst] = a new array of i[length] bytes, each the low byte of i[fill]`.
        0x8b new_b = NewB { dst: ROut, length: IIn, fill: IIn }: faults allocates;
        /// `r[dst] = r[array][i[index]]`, a reference.
        0x8c get_r = GetR { dst: ROut, array: RIn, index: IIn }: faults;
        /// `i[dst] = r[array][i[index]]`, an integer.
        0x8d get_i = GetI { dst: IOut, array: RIn, index: IIn }: faults;
        /// `f[dst] = r[array][i[index]]`, a double.
        0x8e get_f = GetF { dst: IOut, array: RIn, index: IIn }: faults;
        /// `i[dst] = r[array][i[index]]`, a byte of a byte array or a string.
        0x8f get_b = GetB { dst: IOut, array: RIn, index: IIn }: faults;
        /// `r[array][i[index]] = r[src]`.
        0x90 set_r = SetR { array: RIn, index: IIn, src: RIn }: faults stores;
        /// `r[array][i[index]] = i[src]`.
        0x91 set_i = SetI { array: RIn, index: IIn, src: IIn }: faults stores;
        /// `r[array][i[index]] = f[src]`.
        0x92 set_f = SetF { array: RIn, index: IIn, src: IIn }: faults stores;
        /// `r[array][i[index]] = the low byte of i[src]`; strings fault with wrong kind.
        0x93 set_b = SetB { array: RIn, index: IIn, src: IIn }: faults stores;
        /// `r[dst] = r[array][index]`, a reference.
        0xd8 get_r_imm = GetRImm { dst: ROut, array: RIn, index: Int32 }: faults;
        /// `i[dst] = r[array][index]`, an integer.
        0xd9 get_i_imm = GetIImm { dst: IOut, array: RIn, index: Int32 }: faults;
        /// `f[dst] = r[array][index]`, a double.
        0xda get_f_imm = GetFImm { dst: IOut, array: RIn, index: Int32 }: faults;
        /// `i[dst] = r[array][index]`, a byte of a byte array or a string.
        0xdb get_b_imm = GetBImm { dst: IOut, array: RIn, index: Int32 }: faults;
        /// `r[array][index] = r[src]`.
        0xdc set_r_imm = SetRImm { array: RIn, index: Int32, src: RIn }: faults stores;
        /// `r[array][index] = i[src]`.
        0xdd set_i_imm = SetIImm { array: RIn, index: Int32, src: IIn }: faults stores;
        /// `r[array][index] = f[src]`.
        0xde set_f_imm = SetFImm { array: RIn, index: Int32, src: IIn }: faults stores;
        /// `r[array][index] = the low byte of i[src]`; strings fault with wrong kind.
        0xdf set_b_imm = SetBImm { array: RIn, index: Int32, src: IIn }: faults stores;
        /// `i[dst] = the number of elements of r[array]`, of any array or string.
        0x94 len = Len { dst: IOut, array: RIn }: faults;
        /// `copy i[count] elements of r[src] from i[src_index] on to r[dst] at i[dst_index]`; both
        /// are arrays of one kind, and a string may be copied to bytes; overlaps are copied as if
        /// at once.
        0x95 copy = Copy { dst: RIn, dst_index: IIn, src: RIn, src_index: IIn, count: IIn }
            : faults stores;
        /// `r[array][i[index]] and the i[count] - 1 references behind it = r[src]`.
        0xe0 fill_r = FillR { array: RIn, index: IIn, count: IIn, src: RIn }: faults stores;
        /// `r[array][i[index]] and the i[count] - 1 integers behind it = i[src]`.
        0xe1 fill_i = FillI { array: RIn, index: IIn, count: IIn, src: IIn }: faults stores;
        /// `r[array][i[index]] and the i[count] - 1 doubles behind it = f[src]`.
        0xe2 fill_f = FillF { array: RIn, index: IIn, count: IIn, src: IIn }: faults stores;
        /// `r[array][i[index]] and the i[count] - 1 bytes behind it = the low byte of i[src]`.
        0xe3 fill_b = FillB { array: RIn, index: IIn, count: IIn, src: IIn }: faults stores;

        // Strings: immutable bytes.
        /// `r[dst] = r[lhs] followed by r[rhs]`.
        0x98 cat = Cat { dst: ROut, lhs: RIn, rhs: RIn }: faults allocates;
        /// `i[dst] = -1, 0 or 1 as r[lhs] is less than, equal to or greater than r[rhs]`, by bytes.
        0x99 cmp = Cmp { dst: IOut, lhs: RIn, rhs: RIn }: faults;
        /// `r[dst] = a string of the i[count] bytes of r[src] from i[index] on`, of a string or a
        /// byte array.
        0x9a sub_str = SubStr { dst: ROut, src: RIn, index: IIn, count: IIn }: faults allocates;
        /// `r[dst] = i[src] in decimal`.
        0x9b str_of_int = StrOfInt { dst: ROut, src: IIn }: allocates;
        /// `r[dst] = f[src] in the shortest decimal that reads back as the same double`.
        0x9c str_of_float = StrOfFloat { dst: ROut, src: IIn }: allocates;
        /// `i[dst] = the decimal integer in r[src], i[ok] = 1`; when it is none, both are 0.
        0x9d int_of_str = IntOfStr { dst: IOut, ok: IOut, src: RIn }: faults;
        /// `f[dst] = the decimal number in r[src], i[ok] = 1`; when it is none, both are 0.
        0x9e float_of_str = FloatOfStr { dst: IOut, ok: IOut, src: RIn }: faults;
        /// `r[dst] = a string of the bytes in the byte array r[src]`.
        0x9f str_of_bytes = StrOfBytes { dst: ROut, src: RIn }: faults allocates;
        /// `i[dst] = where r[part] stands first in r[src], from i[index] on`; -1 when it does not.
        /// Both are strings or byte arrays; an index beyond the end faults.
        0xe8 find = Find { dst: IOut, src: RIn, part: RIn, index: IIn }: faults;
        /// `i[dst] = a hash of the bytes of r[src]`, a string or a byte array: it starts as the
        /// number of bytes; for each 8 bytes, little-endian and the last ones filled up with zeros,
        /// it is rotated left by 5 bits, combined with them by exclusive or, and multiplied by
        /// 0x517cc1b727220a95; in the end its upper half is combined with its lower by exclusive
        /// or.
        0xe9 hash = Hash { dst: IOut, src: RIn }: faults;
        /// `r[array][i[index]] and what follows = i[src] in decimal, i[dst] = the index behind it`.
        0xea put_int = PutInt { dst: IOut, array: RIn, index: IIn, src: IIn }: faults stores;
        /// `if the strings r[lhs] and r[rhs] are equal goto target`; faults with wrong kind.
        0xeb jstreq = JStrEq { lhs: RIn, rhs: RIn, target: Target }: faults;
        /// `if the strings r[lhs] and r[rhs] are not equal goto target`; faults with wrong kind.
        0xec jstrne = JStrNe { lhs: RIn, rhs: RIn, target: Target }: faults;

        // Weak references do not keep alive what they refer to.
        /// `r[dst] = a new weak reference to r[src]`.
        0xf0 weak = NewWeak { dst: ROut, src: RIn }: allocates;
        /// `r[dst] = what the weak reference r[weak] refers to`; null when that was collected.
        /// Faults with wrong kind.
        0xf1 ld_weak = LdWeak { dst: ROut, weak: RIn }: faults;

        // Closures: a function with the values it captured.
        /// `r[dst] = a closure of the function over these registers`; the function must be declared
        /// as a closure with as many captures.
        0xa0 closure = Closure { dst: ROut, function: FuncId, refs: RRegs, ints: IRegs }: allocates;
        /// `r[dst] = r[closure].captured refs[field]`; faults with wrong kind.
        0xa1 cap_r = CapR { dst: ROut, closure: RIn, field: Field }: faults;
        /// `i[dst] = r[closure].captured ints[field]`; faults with wrong kind.
        0xa2 cap_i = CapI { dst: IOut, closure: RIn, field: Field }: faults;
        /// `r[closure].captured refs[field] = r[src]`, to tie closures that refer to one another;
        /// faults with wrong kind.
        0xa3 st_cap_r = StCapR { closure: RIn, field: Field, src: RIn }: faults stores;
        /// `r[closure].captured ints[field] = i[src]`; faults with wrong kind.
        0xa4 st_cap_i = StCapI { closure: RIn, field: Field, src: IIn }: faults stores;

        // Calls. Arguments stand at the caller's windows, which become the callee's first
        // registers; results come back in the same place.
        /// `call function with the windows at i[ints] and r[refs]`.
        0xa8 call = Call { function: FuncId, ints: IWindow, refs: RWindow }: faults calls;
        /// `call the closure r[closure]`; it arrives in the callee's first r register after its
        /// reference parameters. Faults with wrong kind when it is no closure of this signature.
        0xa9 call_closure = CallClosure { closure: RIn, sig: Sig, ints: IWindow, refs: RWindow }
            : faults calls;
        /// `call the host function with the windows at i[ints] and r[refs]`.
        0xaa call_host = CallHost { host: HostId, ints: IWindow, refs: RWindow }: faults calls;
        /// `become a call of function`; its arguments are `i[0]..` and `r[0]..` of this frame.
        0xab tail_call = TailCall { function: FuncId } -> !: calls;
        /// `become a call of the closure r[closure]`; its arguments are `i[0]..` and `r[0]..`.
        0xac tail_call_closure = TailCallClosure { closure: RIn, sig: Sig } -> !: faults calls;
        /// `return`; the results are `i[0]..` and `r[0]..` of this frame.
        0xad ret = Ret {} -> !;

        // Exceptions.
        /// `raise r[exception]`.
        0xb0 raise = Raise { exception: RIn } -> !: faults;
        /// `fault with failed match`.
        0xb1 match_fail = MatchFail {} -> !: faults;

        // Profiling. They cost nothing when no profile is taken.
        /// `open source`: it is charged until the matching leave.
        0xb8 enter = Enter { source: SourceRef }: profiles;
        /// `close source`, which must be the one opened last.
        0xb9 leave = Leave { source: SourceRef }: profiles;
            }
    };
}

pub(crate) use for_each_op;
