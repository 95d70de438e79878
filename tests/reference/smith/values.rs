//! Lines on what lives beside variables: globals, constants that are objects, immediates as
//! numbers, weak references, closures that are tied to one another.

use super::blocks::Scope;
use super::{Kind, Node};

/// Constants that are objects, without the arrays of numbers.
const OBJECTS: &[&str] = &["crec", "cpair", "cclo", "crefs"];
/// Doubles for operands.
const OPERANDS: &[&str] = &[
    "0.0", "-0.0", "1.5", "-2.0", "inf", "nan", "1e300", "3", "1e-300",
];

impl Scope<'_> {
    /// A line on values that cannot fault.
    pub(super) fn values(&mut self) -> String {
        match self.random.below(8) {
            0 | 1 => self.globals(),
            2 => self.constant(),
            3 => self.tagged(),
            4 if self.is_full => self.weak(),
            5 => self.wide(),
            6 => self.tied(),
            _ => self.part(),
        }
    }

    fn globals(&mut self) -> String {
        let (i, f, p) = (
            self.var(Kind::Int),
            self.var(Kind::Float),
            self.var(Kind::Record),
        );
        let (any, q) = (self.var(Kind::Any), self.any_ref());
        match self.random.below(9) {
            0 => format!("{i} = ld_gi gi"),
            1 => format!("st_gi gi, {i}"),
            2 => format!("{f} = ld_gi gf"),
            3 => format!("st_gi gf, {f}"),
            4 => format!("{any} = ld_gr gr"),
            5 => format!("st_gr gr, {q}"),
            6 => format!("{p} = ld_gr gp"),
            7 => format!("st_gr gp, {p}"),
            _ => "x = ld_gi gi\nx = add_imm x, 1\nst_gi gi, x".to_owned(),
        }
    }

    fn constant(&mut self) -> String {
        let (any, i, f) = (
            self.var(Kind::Any),
            self.var(Kind::Int),
            self.var(Kind::Float),
        );
        let q = self.any_ref();
        match self.random.below(8) {
            0 | 1 => format!("{any} = constant {}", self.of(OBJECTS)),
            2 => format!("tx = constant cclo\n{i} = call_closure tx({i})"),
            3 => format!("tx = constant cclo\n{i} = sig tx"),
            4 => format!(
                "tx = constant ints\n{i} = get_i_imm tx, {}",
                self.random.below(10)
            ),
            5 => format!(
                "tx = constant floats\n{f} = get_f_imm tx, {}",
                self.random.below(9)
            ),
            6 => format!("tx = constant cpair\ntx = ld_r tx, 0\n{i} = ld_i tx, 1"),
            _ => format!("{i} = kind {q}"),
        }
    }

    /// Arithmetic on small immediates.
    fn tagged(&mut self) -> String {
        let any = self.var(Kind::Any);
        let (a, b) = (self.random.next() as i16, self.number());
        let set = format!("tx = imm {a}\nty = imm {b}");
        match self.random.below(4) {
            0 => format!("{set}\n{any} = tadd tx, ty"),
            1 => format!("{set}\n{any} = tsub tx, ty"),
            2 => format!("{set}\n{any} = tmul tx, ty"),
            _ => format!("{set}\n{any} = tadd_imm tx, {b}"),
        }
    }

    /// Weak references to what is alive to the end of the run: when other objects go depends on
    /// registers.
    fn weak(&mut self) -> String {
        let (any, i, q) = (self.var(Kind::Any), self.var(Kind::Int), self.any_ref());
        match self.random.below(6) {
            0 => format!("{any} = weak g"),
            1 => format!("tx = \"text0\"\n{any} = weak tx"),
            2 => format!("tx = constant crec\n{any} = weak tx"),
            3 => format!("tx = imm {i}\n{any} = weak tx", i = self.number()),
            4 => format!("tx = weak {q}\nty = ld_weak tx\n{i} = same ty, {q}"),
            _ => format!(
                "tx = new_b 5000, 1\nty = weak tx\ncall gc()\nty = ld_weak ty\n{i} = same tx, ty"
            ),
        }
    }

    fn wide(&mut self) -> String {
        let (i, j) = (self.var(Kind::Int), self.var(Kind::Int));
        let (a, b, c) = (
            self.var(Kind::Int),
            self.var(Kind::Int),
            self.var(Kind::Int),
        );
        if i == j {
            return format!("{i} = mul_hi {a}, {b}\n{j} = umul_hi {j}, {c}");
        }
        let op = self.of(&["add_carry", "sub_borrow"]);
        match self.random.below(2) {
            0 => format!("{i}, {j} = {op} {a}, {b}, {c}"),
            _ => format!("x = and_imm {c}, 1\n{i}, {j} = {op} {a}, {b}, x"),
        }
    }

    /// Two closures that call one another.
    fn tied(&mut self) -> String {
        let (i, a, b) = (
            self.var(Kind::Int),
            self.var(Kind::Int),
            self.var(Kind::Int),
        );
        format!(
            "tx = closure ping, [null], [{a}]\nty = closure ping, [tx], [{b}]\n\
             st_cap_r tx, 0, ty\nst_cap_i tx, 0, {i}\nx = and_imm {a}, 7\n\
             {i} = call_closure tx(x)"
        )
    }

    /// Parts of arrays and strings.
    fn part(&mut self) -> String {
        let (i, t, u) = (
            self.var(Kind::Int),
            self.var(Kind::Text),
            self.var(Kind::Text),
        );
        let (bytes, p) = (self.var(Kind::Bytes), self.var(Kind::Record));
        let (at, count) = (self.random.below(4), self.random.below(5));
        match self.random.below(16) {
            0 => format!("{i} = find {t}, {u}, 0"),
            1 => format!("{i} = find {bytes}, {t}, {at}"),
            2 => format!("{i} = hash {t}"),
            3 => format!("{i} = hash {bytes}"),
            4 => format!("x = and_imm {i}, 1023\n{i} = put_int {bytes}, {at}, x"),
            5 => format!("fill_i {}, {at}, {count}, {i}", self.array()),
            6 => format!("fill_b {bytes}, {at}, {count}, {i}"),
            7 => {
                let (floats, f) = (self.var(Kind::Floats), self.var(Kind::Float));
                format!("fill_f {floats}, {at}, {count}, {f}")
            }
            8 => format!("fill_r {}, {at}, {count}, {p}", self.var(Kind::Records)),
            9 => format!("{t} = sub_str {bytes}, {at}, {count}"),
            _ => self.element_of_constant_index(false),
        }
    }

    /// An access by a constant index, which lies within the array or may not.
    pub(super) fn element_of_constant_index(&mut self, is_risky: bool) -> String {
        let at = match self.random.below(if is_risky { 3 } else { 1 }) {
            0 => self.random.below(8) as i32,
            1 => -1,
            _ => self.number(),
        };
        let (i, f, p) = (
            self.var(Kind::Int),
            self.var(Kind::Float),
            self.var(Kind::Record),
        );
        match self.random.below(8) {
            0 => format!("{i} = get_i_imm {}, {at}", self.array()),
            1 => format!("set_i_imm {}, {at}, {i}", self.array()),
            2 => format!("{f} = get_f_imm {}, {at}", self.var(Kind::Floats)),
            3 => format!("set_f_imm {}, {at}, {f}", self.var(Kind::Floats)),
            4 => format!("{i} = get_b_imm {}, {at}", self.var(Kind::Bytes)),
            5 => format!("set_b_imm {}, {at}, {i}", self.var(Kind::Bytes)),
            6 => format!("{p} = get_r_imm {}, {at}", self.var(Kind::Records)),
            _ => format!("set_r_imm {}, {at}, {p}", self.var(Kind::Records)),
        }
    }

    /// A line on values that faults for some of them.
    pub(super) fn risky_values(&mut self) -> String {
        let (d, a, b) = (
            self.var(Kind::Int),
            self.var(Kind::Int),
            self.var(Kind::Int),
        );
        let (any, q, r) = (self.var(Kind::Any), self.any_ref(), self.any_ref());
        let (n, bytes) = (self.number(), self.var(Kind::Bytes));
        match self.random.below(16) {
            0..=2 => {
                let op = self.of(&[
                    "quot_imm",
                    "rem_imm",
                    "div_imm",
                    "modulo_imm",
                    "udiv_imm",
                    "urem_imm",
                    "mul_ovf_imm",
                    "rsub_ovf_imm",
                ]);
                format!("{d} = {op} {a}, {n}")
            }
            3 => self.element_of_constant_index(true),
            4 => format!("tx = to_imm {a}\nty = to_imm {b}\n{any} = tmul tx, ty"),
            5 => {
                let op = self.of(&["tadd", "tsub"]);
                format!("x = sar_imm {a}, 1\ntx = to_imm x\n{any} = {op} tx, tx")
            }
            6 => format!("{any} = tadd_imm {q}, {n}"),
            7 => format!("{any} = ld_weak {any}"),
            8 => format!("{d} = sig {q}"),
            9 => format!("{d} = put_int {bytes}, {}, {a}", self.random.below(9)),
            10 => format!("x = sar_imm {b}, 58\n{d} = find {q}, {r}, x"),
            11 => self.store_to_constant(),
            12 => format!("st_cap_r {any}, 0, {q}"),
            13 => format!("x = sar_imm {b}, 60\nfill_b {bytes}, x, 3, {a}"),
            14 => format!("{d} = hash {q}"),
            _ => {
                let n = self.label();
                format!("jstreq {q}, {r}, on{n}\n{d} = {n}\non{n}:")
            }
        }
    }

    fn store_to_constant(&mut self) -> String {
        let (i, q) = (self.var(Kind::Int), self.any_ref());
        match self.random.below(8) {
            0 => format!("tx = constant crec\nst_i tx, 0, {i}"),
            1 => format!("tx = constant cpair\nst_r tx, 0, {q}"),
            2 => format!("tx = constant cclo\nst_cap_r tx, 0, {q}"),
            3 => format!("tx = constant cclo\nst_cap_i tx, 0, {i}"),
            4 => format!("tx = constant crefs\nset_r_imm tx, 1, {q}"),
            5 => format!("tx = constant ints\nfill_i tx, 0, 2, {i}"),
            6 => format!("tx = constant bytes\n{i} = put_int tx, 0, 5"),
            _ => "tx = constant floats\nty = data floats\ncopy tx, 0, ty, 0, 1".to_owned(),
        }
    }

    /// A double and an operand.
    pub(super) fn floating_operand(&mut self) -> String {
        let op = self.of(&["fadd", "frsub", "fmul", "fdiv", "frdiv"]);
        let (d, a) = (self.var(Kind::Float), self.var(Kind::Float));
        format!("{d} = {op}_imm {a}, {}", self.of(OPERANDS))
    }

    /// A jump on references to what they are.
    pub(super) fn jump_on_value(&mut self, label: &str) -> String {
        let (q, n) = (self.any_ref(), self.random.below(9));
        let (a, b) = (self.number(), self.number());
        let (t, u) = (self.var(Kind::Text), self.var(Kind::Text));
        match self.random.below(4) {
            0 => format!("jtag {q}, {n}, {label}"),
            1 => format!("jntag {q}, {n}, {label}"),
            2 => {
                let op = self.of(&["jtlt", "jtle"]);
                format!("tx = imm {a}\nty = imm {b}\n{op} tx, ty, {label}")
            }
            _ => format!("{} {t}, {u}, {label}", self.of(&["jstreq", "jstrne"])),
        }
    }

    /// A branch on a constructor.
    pub(super) fn switch_tag(&mut self) -> Node {
        let n = self.label();
        let cases = 1 + self.random.below(9);
        let names: Vec<String> = (0..cases).map(|case| format!("tag{n}_{case}")).collect();
        let (q, v) = (self.any_ref(), self.var(Kind::Int));
        let mut text = format!(
            "switch_tag {q}, {}, [{}]\n{v} = -1\n",
            self.random.below(4),
            names.join(", ")
        );
        for (case, name) in names.iter().enumerate() {
            text += &format!("jmp end{n}\n{name}:\n{v} = add_imm {v}, {case}\n");
        }
        Node::lines(&format!("{text}end{n}:\ncall mix(w, {v})"))
    }
}
