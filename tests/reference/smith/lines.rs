//! Straight lines: what a body can do without labels of its own.

use super::blocks::Scope;
use super::{Kind, Node};

const TOTAL: &[&str] = &[
    "add", "sub", "mul", "and", "or", "xor", "shl", "shr", "sar", "eq", "ne", "lt", "le", "ult",
    "ule", "mul_hi", "umul_hi",
];
const IMMEDIATE: &[&str] = &[
    "add_imm", "mul_imm", "rsub_imm", "and_imm", "or_imm", "xor_imm", "shl_imm", "shr_imm",
    "sar_imm", "eq_imm", "ne_imm", "lt_imm", "le_imm", "gt_imm", "ge_imm",
];
const PARTIAL: &[&str] = &[
    "add_ovf", "sub_ovf", "mul_ovf", "quot", "rem", "div", "modulo", "udiv", "urem",
];
const FLOATS: &[&str] = &["fadd", "fsub", "fmul", "fdiv"];
const FLOAT_UNARY: &[&str] = &[
    "fneg", "fabs", "fsqrt", "ffloor", "fceil", "ftrunc", "fround", "fsingle",
];
const INTERESTING: &[&str] = &[
    "0",
    "1",
    "-1",
    "2",
    "7",
    "63",
    "64",
    "65",
    "255",
    "-128",
    "2147483647",
    "-2147483648",
    "0x100000000",
    "0x7fffffffffffffff",
    "0x8000000000000000",
    "0x4000000000000000",
    "0x3fffffffffffffff",
    "-0x4000000000000000",
    "0x43e0000000000000",
    "1000003",
];
const DOUBLES: &[&str] = &[
    "0.0",
    "-0.0",
    "1.5",
    "2.5",
    "-0.5",
    "1e300",
    "-1e-300",
    "inf",
    "nan",
    "9223372036854775808.0",
    "-9223372036854775808.0",
    "0.1",
    "1e16",
    "123456789.125",
    "5e-324",
    "1e21",
    "1e-7",
];
const TEXTS: &[&str] = &[
    "",
    "a",
    "hello",
    "12",
    "-17",
    "12abc",
    " 5",
    "1.5",
    "-0.0",
    "1e3",
    "inf",
    "nan",
    "0x10",
    "99999999999999999999",
    "eight ch",
    "a longer string of more than some words",
    "\\xff\\0b",
];

impl Scope<'_> {
    /// A line that cannot fault.
    pub(super) fn safe(&mut self) -> Node {
        let text = match self.random.below(24) {
            0..=3 => self.total(),
            4..=6 => self.immediate(),
            7 => self.unary(),
            8 => self.literal(),
            9 | 10 => self.moves(),
            11..=13 => self.floating(),
            14 => self.reference(),
            15 => self.new_object(),
            16 | 17 => self.field(),
            18 => self.element(true),
            19..=21 => self.values(),
            22 => self.floating_operand(),
            _ => self.string(),
        };
        Node::lines(&text)
    }

    /// A line that faults for some values.
    pub(super) fn risky(&mut self) -> Node {
        let (d, a, b) = (
            self.var(Kind::Int),
            self.var(Kind::Int),
            self.var(Kind::Int),
        );
        let (q, t) = (self.var(Kind::Any), self.var(Kind::Text));
        let text = match self.random.below(19) {
            0..=2 => {
                let op = self.of(PARTIAL);
                format!("{d} = {op} {a}, {b}")
            }
            3 => format!("{d} = neg_ovf {a}"),
            4 => {
                let n = self.number();
                format!("{d} = add_ovf_imm {a}, {n}")
            }
            5 => format!("{d} = ftoi {}", self.var(Kind::Float)),
            6 => format!("{q} = to_imm {a}"),
            7 => format!("{d} = of_imm {q}"),
            8 | 9 => self.element(false),
            10 => format!("{t} = sub_str {t}, {a}, {b}"),
            11 => {
                let op = self.of(&["new_r", "new_i", "new_f", "new_b"]);
                let fill = match op {
                    "new_r" => q.clone(),
                    "new_f" => self.var(Kind::Float),
                    _ => b,
                };
                format!("{a} = sar_imm {a}, 56\n{q} = {op} {a}, {fill}")
            }
            12 => self.copy(),
            13 => self.wrong_kind(),
            16..=18 => self.risky_values(),
            14 => format!("{d} = and_imm {a}, 3\n{q} = call arg({d})"),
            _ => self.call_any(),
        };
        Node::lines(&text)
    }

    fn total(&mut self) -> String {
        let op = self.of(TOTAL);
        let (d, a, b) = (
            self.var(Kind::Int),
            self.var(Kind::Int),
            self.var(Kind::Int),
        );
        format!("{d} = {op} {a}, {b}")
    }

    fn immediate(&mut self) -> String {
        let (d, a) = (self.var(Kind::Int), self.var(Kind::Int));
        if self.random.below(5) == 0 {
            let (op, bits) = (self.of(&["sext", "zext"]), 1 + self.random.below(64));
            return format!("{d} = {op} {a}, {bits}");
        }
        let (op, n) = (self.of(IMMEDIATE), self.number());
        format!("{d} = {op} {a}, {n}")
    }

    /// A number for a 32-bit operand.
    pub(super) fn number(&mut self) -> i32 {
        match self.random.below(4) {
            0 => self.random.next() as i32,
            1 => [i32::MIN, i32::MAX, 64, 63, 65, -64][self.random.below(6)],
            _ => self.random.below(20) as i32 - 4,
        }
    }

    fn unary(&mut self) -> String {
        let op = self.of(&["neg", "not", "popcount", "clz", "ctz"]);
        format!("{} = {op} {}", self.var(Kind::Int), self.var(Kind::Int))
    }

    fn literal(&mut self) -> String {
        match self.random.below(3) {
            0 => format!("{} = {}", self.var(Kind::Int), self.random.next() as i64),
            1 => format!("{} = {}", self.var(Kind::Int), self.of(INTERESTING)),
            _ => format!("{} = float {}", self.var(Kind::Float), self.of(DOUBLES)),
        }
    }

    /// Moves in ones, twos and threes, of one class or of both.
    fn moves(&mut self) -> String {
        let mut text = String::new();
        for _ in 0..1 + self.random.below(4) {
            let kind = self.of(&[Kind::Int, Kind::Int, Kind::Record, Kind::Float, Kind::Text]);
            text += &format!("{} = {}\n", self.var(kind), self.var(kind));
        }
        text
    }

    fn floating(&mut self) -> String {
        let (d, a, b) = (
            self.var(Kind::Float),
            self.var(Kind::Float),
            self.var(Kind::Float),
        );
        let i = self.var(Kind::Int);
        match self.random.below(8) {
            0..=2 => format!("{d} = {} {a}, {b}", self.of(FLOATS)),
            3 | 4 => format!("{d} = {} {a}", self.of(FLOAT_UNARY)),
            5 => format!("{i} = {} {a}, {b}", self.of(&["feq", "flt", "fle"])),
            6 => format!("{d} = itof {i}"),
            _ => {
                let host = self.of(&["sin", "cos", "exp", "ln", "atan2", "pow"]);
                match host {
                    "atan2" | "pow" => format!("{d} = call {host}({a}, {b})"),
                    _ => format!("{d} = call {host}({a})"),
                }
            }
        }
    }

    /// References that need no object, and questions about them.
    fn reference(&mut self) -> String {
        let (q, i) = (self.var(Kind::Any), self.var(Kind::Int));
        let (one, other) = (self.any_ref(), self.any_ref());
        match self.random.below(7) {
            0 => format!("{q} = null"),
            1 => format!("{q} = imm {}", self.number()),
            2 => format!("{i} = same {one}, {other}"),
            3 => format!("{i} = is_null {one}"),
            4 => format!("{i} = is_imm {one}"),
            5 => format!("{q} = {one}"),
            _ => format!("x = sar_imm {i}, 1\n{q} = to_imm x"),
        }
    }

    fn new_object(&mut self) -> String {
        let (q, p, r) = (
            self.any_ref(),
            self.var(Kind::Record),
            self.var(Kind::Record),
        );
        let (a, b, f) = (
            self.var(Kind::Int),
            self.var(Kind::Int),
            self.var(Kind::Float),
        );
        let any = self.var(Kind::Any);
        match self.random.below(9) {
            0..=3 => format!("{p} = new {}, [{q}, {r}], [{a}, {b}]", self.random.below(9)),
            4 => format!("{any} = new 65535, [], [{a}]"),
            5 => format!("{any} = new 40000, [{q}, {r}, {q}], [{a}, {b}, {a}, {b}, {a}]"),
            6 => format!("{any} = new 0, [], []"),
            7 => self.new_array(),
            _ => format!("{any} = closure adder, [{q}], [{a}]\n{f} = itof {a}"),
        }
    }

    /// An array of at least eight elements, now and then one that is large.
    fn new_array(&mut self) -> String {
        let (i, f, p) = (
            self.var(Kind::Int),
            self.var(Kind::Float),
            self.var(Kind::Record),
        );
        let length = match self.random.below(8) {
            0 => 300 + self.random.below(2_000),
            _ => 8 + self.random.below(24),
        };
        let text = match self.random.below(7) {
            0 => format!("{} = new_i x, {i}", self.var(Kind::Ints)),
            1 => format!("{} = new_f x, {f}", self.var(Kind::Floats)),
            2 => format!("{} = new_b x, {i}", self.var(Kind::Bytes)),
            3 => format!("{} = new_r x, {p}", self.var(Kind::Records)),
            4 => format!("{} = data ints", self.var(Kind::Ints)),
            5 => format!("{} = data floats", self.var(Kind::Floats)),
            _ => format!("{} = data bytes", self.var(Kind::Bytes)),
        };
        format!("x = {length}\n{text}")
    }

    fn field(&mut self) -> String {
        let (p, r, q) = (
            self.var(Kind::Record),
            self.var(Kind::Record),
            self.var(Kind::Any),
        );
        let (i, field) = (self.var(Kind::Int), self.random.below(2));
        match self.random.below(7) {
            0 => format!("{q} = ld_r {p}, 0"),
            1 => format!("{p} = ld_r {p}, 1"),
            2 => format!("{i} = ld_i {p}, {field}"),
            3 => format!("st_r {p}, 0, {}", self.any_ref()),
            4 => format!("st_r {p}, 1, {r}"),
            5 => format!("st_i {p}, {field}, {i}"),
            _ => format!("{i} = tag {p}"),
        }
    }

    /// An access to an array, with an index that fits or one that may not.
    fn element(&mut self, is_safe: bool) -> String {
        let mask = if is_safe { 7 } else { 15 };
        let (a, i, f) = (
            self.var(Kind::Int),
            self.var(Kind::Int),
            self.var(Kind::Float),
        );
        let p = self.var(Kind::Record);
        let (ints, floats) = (self.array(), self.var(Kind::Floats));
        let (bytes, records) = (self.var(Kind::Bytes), self.var(Kind::Records));
        let access = match self.random.below(10) {
            0 => format!("{i} = get_i {ints}, x"),
            1 => format!("set_i {ints}, x, {i}"),
            2 => format!("{f} = get_f {floats}, x"),
            3 => format!("set_f {floats}, x, {f}"),
            4 => format!("{i} = get_b {bytes}, x"),
            5 => format!("set_b {bytes}, x, {i}"),
            6 => format!("{p} = get_r {records}, x"),
            7 | 8 => format!("set_r {records}, x, {p}"),
            _ => format!("{i} = len {bytes}"),
        };
        let words: Vec<&str> = access.split([' ', ',']).collect();
        match self.random.below(3) {
            0 if !is_safe => format!("x = {a}\n{access}"),
            // Anywhere in the array, which may be a large one. All arrays have elements.
            1 => {
                let is_load = words.get(1) == Some(&"=");
                let array = words[if is_load { 3 } else { 1 }];
                format!("y = len {array}\nx = urem {a}, y\n{access}")
            }
            _ => format!("x = and_imm {a}, {mask}\n{access}"),
        }
    }

    /// An array of integers that is not `w`, whose budget must not be overwritten.
    pub(super) fn array(&mut self) -> String {
        loop {
            let array = self.var(Kind::Ints);
            if array != "w" {
                return array;
            }
        }
    }

    fn copy(&mut self) -> String {
        let kind = self.of(&[Kind::Ints, Kind::Floats, Kind::Bytes, Kind::Records]);
        let draw = |scope: &mut Self| match kind {
            Kind::Ints => scope.array(),
            _ => scope.var(kind),
        };
        let (to, from) = (draw(self), draw(self));
        let from = match (kind, self.random.below(3)) {
            (Kind::Bytes, 0) => self.var(Kind::Text),
            _ => from,
        };
        let (a, b, c) = (
            self.random.below(6),
            self.random.below(6),
            self.random.below(10),
        );
        let (a, b) = (a as i64 - 1 + i64::from(a == 0), b);
        format!("x = {a}\ny = {b}\nz = {c}\ncopy {to}, x, {from}, y, z")
    }

    fn string(&mut self) -> String {
        let (t, u, i) = (
            self.var(Kind::Text),
            self.var(Kind::Text),
            self.var(Kind::Int),
        );
        let (f, j, bytes) = (
            self.var(Kind::Float),
            self.var(Kind::Int),
            self.var(Kind::Bytes),
        );
        match self.random.below(9) {
            0 => format!("{t} = \"{}\"", self.of(TEXTS)),
            // Strings that grow without end would take all the time.
            1 => format!(
                "{i} = len {t}\nx = 400\nx = lt x, {i}\ny = mul x, {i}\ny = sub {i}, y\nx = 0\n\
                 {t} = sub_str {t}, x, y\n{t} = cat {t}, {u}"
            ),
            2 => format!("{i} = cmp {t}, {u}"),
            3 => format!("{t} = str_of_int {i}"),
            4 => format!("{t} = str_of_float {f}"),
            5 if i != j => format!("{i}, {j} = int_of_str {t}"),
            6 => format!("{f}, {j} = float_of_str {t}"),
            7 => format!("{t} = str_of_bytes {bytes}"),
            _ => format!("{i} = len {t}"),
        }
    }

    /// An op on a value that is most likely of another kind than it wants.
    fn wrong_kind(&mut self) -> String {
        let (q, i, f) = (self.any_ref(), self.var(Kind::Int), self.var(Kind::Float));
        let (any, r) = (self.var(Kind::Any), self.any_ref());
        let field = self.random.below(4);
        match self.random.below(22) {
            0 => format!("{i} = tag {q}"),
            1 => format!("{i} = ld_i {q}, {field}"),
            2 => format!("{any} = ld_r {q}, {field}"),
            // What is stored must not break what records of the generator hold.
            3 => format!("st_r {any}, 2, {r}"),
            4 => format!("st_i {any}, {field}, {i}"),
            5 => format!("{any} = get_r {q}, {i}"),
            6 => format!("{i} = get_i {q}, {i}"),
            7 => format!("{f} = get_f {q}, {i}"),
            8 => format!("{i} = get_b {q}, {i}"),
            9 => format!("set_b {q}, {i}, {i}"),
            10 => format!("set_f {q}, {i}, {f}"),
            11 => format!("{i} = len {q}"),
            12 => format!("{any} = cat {q}, {r}"),
            13 => format!("{i} = cmp {q}, {r}"),
            14 => format!("{any} = cap_r {q}, {field}"),
            15 => format!("{i} = cap_i {q}, {field}"),
            16 => format!("{any} = str_of_bytes {q}"),
            17 => format!("call print({q})"),
            18 => format!("{f}, {i} = float_of_str {q}"),
            19 => format!("x = 0\ny = 3\ncopy {any}, x, {q}, x, y"),
            20 => format!("{any} = sub_str {q}, {i}, {i}"),
            _ => format!("{i} = of_imm {q}"),
        }
    }

    /// A call of something that may be a closure, or another one than this.
    fn call_any(&mut self) -> String {
        let (q, i, j) = (self.any_ref(), self.var(Kind::Int), self.var(Kind::Int));
        let any = self.var(Kind::Any);
        match self.random.below(4) {
            0 => format!("{i} = call_closure {q}({j})"),
            1 => format!("{i} = call thrice({q}, {j})"),
            2 => format!("{i}, {any} = call_closure {q}(w, g, {j})"),
            _ => format!("call_closure {q}(w, g)"),
        }
    }
}
