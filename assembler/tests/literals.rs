//! A literal of any kind at each place where an op reads a register: it assembles and verifies if
//! its class fits, and is refused with a reason otherwise.

use assembler::{AssembleOptions, assemble, print};
use vm::isa::{Access, OPS, OpInfo, Opcode, OperandInfo, Role};

/// What is written, and the places that take it.
struct Literal {
    text: &'static str,
    fits: fn(&str) -> bool,
}

/// A place reads an `integer`, a `double`, a `word` of either, a `reference`, or a reference whose
/// row has an `addend` of 32 bits.
const LITERALS: [Literal; 10] = [
    Literal {
        text: "1",
        fits: |place| place != "reference",
    },
    Literal {
        text: "-2147483647",
        fits: |place| place != "reference",
    },
    Literal {
        text: "0x7fffffffffffffff",
        fits: |place| place == "integer" || place == "word",
    },
    Literal {
        text: "'a'",
        fits: |place| place != "reference",
    },
    Literal {
        text: "2.5",
        fits: |place| place == "double" || place == "word",
    },
    Literal {
        text: "inf",
        fits: |place| place == "double" || place == "word",
    },
    Literal {
        text: "\"text\"",
        fits: is_reference,
    },
    Literal {
        text: "null",
        fits: is_reference,
    },
    Literal {
        text: "i64 [1, 2]",
        fits: is_reference,
    },
    Literal {
        text: "[1]",
        fits: |_| false,
    },
];

fn is_reference(place: &str) -> bool {
    place == "reference" || place == "addend"
}

/// Why a literal may be refused. There is no other reason.
const REASONS: [&str; 5] = [
    "an i register or an integer should stand here, not ",
    "an i register or a double should stand here, not ",
    "an i register or a number should stand here, not ",
    "an r register, a string or `null` should stand here, not ",
    "a double should stand here, and none is exactly ",
];

/// The operands that are read as doubles.
const DOUBLES: [(&str, &str); 45] = [
    ("fadd_imm", "lhs"),
    ("frsub_imm", "lhs"),
    ("fmul_imm", "lhs"),
    ("fdiv_imm", "lhs"),
    ("frdiv_imm", "lhs"),
    ("set_f_imm", "src"),
    ("fill_f", "src"),
    ("feq", "lhs"),
    ("feq", "rhs"),
    ("flt", "lhs"),
    ("flt", "rhs"),
    ("fle", "lhs"),
    ("fle", "rhs"),
    ("fadd", "lhs"),
    ("fadd", "rhs"),
    ("fsub", "lhs"),
    ("fsub", "rhs"),
    ("fmul", "lhs"),
    ("fmul", "rhs"),
    ("fdiv", "lhs"),
    ("fdiv", "rhs"),
    ("fneg", "src"),
    ("fabs", "src"),
    ("fsqrt", "src"),
    ("ffloor", "src"),
    ("fceil", "src"),
    ("ftrunc", "src"),
    ("fround", "src"),
    ("ftoi", "src"),
    ("fsingle", "src"),
    ("jfeq", "lhs"),
    ("jfeq", "rhs"),
    ("jfne", "lhs"),
    ("jfne", "rhs"),
    ("jflt", "lhs"),
    ("jflt", "rhs"),
    ("jfle", "lhs"),
    ("jfle", "rhs"),
    ("jfnlt", "lhs"),
    ("jfnlt", "rhs"),
    ("jfnle", "lhs"),
    ("jfnle", "rhs"),
    ("new_f", "fill"),
    ("set_f", "src"),
    ("str_of_float", "src"),
];

/// What an operand reads; `None` when it reads no register.
fn place(info: &OpInfo, operand: &OperandInfo) -> Option<&'static str> {
    let is_double = DOUBLES.contains(&(info.mnemonic, operand.name));
    Some(match operand.role {
        _ if operand.role.access() != Access::Read => return None,
        Role::RIn if ["tadd", "tsub"].contains(&info.mnemonic) && operand.name == "rhs" => "addend",
        Role::RIn if info.mnemonic == "tadd" => "addend",
        Role::RIn | Role::RRegs => "reference",
        Role::IRegs => "word",
        _ if ["mov", "st_i", "st_gi", "st_cap_i"].contains(&info.mnemonic) => "word",
        _ if is_double => "double",
        _ => "integer",
    })
}

/// A program of one op with a literal at one of its places, and what else it needs elsewhere.
fn program(info: &OpInfo, index: usize, literal: &str) -> String {
    let operand = |operand: &OperandInfo, is_chosen: bool| -> String {
        match operand.role {
            Role::IIn | Role::RIn if is_chosen => literal.into(),
            Role::IRegs | Role::RRegs if is_chosen => format!("[{literal}]"),
            Role::IIn => "a".into(),
            Role::RIn => "p".into(),
            Role::IRegs => "[a]".into(),
            Role::RRegs => "[p]".into(),
            Role::IWindow => "i9".into(),
            Role::RWindow => "r9".into(),
            Role::Target => "end".into(),
            Role::Targets => "[end]".into(),
            Role::FuncId => "captured".into(),
            Role::IntGlobal => "word".into(),
            Role::RefGlobal => "cell".into(),
            Role::Sig => "() -> ()".into(),
            _ => "1".into(),
        }
    };
    let mut written = Vec::new();
    let mut others = Vec::new();
    for (place, one) in info.operands.iter().enumerate() {
        match one.role.access() {
            Access::Write => written.push(format!("x{place}")),
            _ => others.push(operand(one, place == index)),
        }
    }
    let equals = if written.is_empty() { "" } else { " = " };
    let (written, others) = (written.join(", "), others.join(", "));
    format!(
        "global word: i\nglobal cell: r\n\
         closure fun captured{{k: i, s: r}}() {{ ret }}\n\
         fun f(a: i, p: r) {{\n    {written}{equals}{} {others}\nend:\n    ret\n}}\n\
         fun main() {{ ret }}\n",
        info.mnemonic
    )
}

#[test]
fn a_literal_at_any_place_assembles_or_is_refused_with_a_reason() {
    let options = AssembleOptions {
        inline_ops: Some(20),
        profile_branch: true,
        ..AssembleOptions::default()
    };
    let mut n_places = 0;
    let mut wrong = String::new();
    for info in OPS {
        for (index, operand) in info.operands.iter().enumerate() {
            let Some(place) = place(info, operand) else {
                continue;
            };
            n_places += 1;
            for literal in &LITERALS {
                let text = program(info, index, literal.text);
                match assemble(&text, &options) {
                    Ok(_) if (literal.fits)(place) => {}
                    Ok(_) => wrong += &format!("assembles, with no {place}:\n{text}\n"),
                    Err(errors) => {
                        let has_reason = errors.len() == 1
                            && REASONS.iter().any(|one| errors[0].message.starts_with(one));
                        if (literal.fits)(place) || !has_reason {
                            let errors = errors.iter().map(|error| error.render("f", &text));
                            wrong += &errors.collect::<String>();
                        }
                    }
                }
            }
        }
    }
    assert!(n_places > 180, "only {n_places} places read registers");
    assert!(wrong.is_empty(), "{wrong}");
}

/// The ops of the function `f` of a program, in canonical text.
fn ops(body: &str) -> Vec<String> {
    let text = format!("fun f(a: i, p: r, n: f) {{\n{body}\n    ret\n}}\nfun main() {{ ret }}\n");
    let module = assemble(&text, &AssembleOptions::default()).unwrap_or_else(|errors| {
        panic!(
            "{}",
            errors
                .iter()
                .map(|error| error.render("f", &text))
                .collect::<String>()
        )
    });
    let printed = print(&module);
    let start = printed.find("fun f(").expect("the function is printed");
    let lines = printed[start..].lines().skip(1).map(str::trim);
    let lines = lines.take_while(|line| *line != "}");
    let is_shown = |line: &&str| {
        !["enter", "leave", "ret", ".line"]
            .iter()
            .any(|one| line.starts_with(one))
    };
    lines.filter(is_shown).map(str::to_owned).collect()
}

/// Each row with an immediate is what becomes of a literal.
#[test]
fn numbers_become_immediates_of_rows_that_have_one() {
    let mut n_rows = 0;
    for info in OPS {
        let name = info.mnemonic.strip_suffix("_imm");
        let Some(row) = name.and_then(Opcode::from_mnemonic).map(Opcode::info) else {
            continue;
        };
        // `is_imm` is no form of an `is`.
        if row.operands.len() != info.operands.len() {
            continue;
        }
        n_rows += 1;
        let is_immediate = |index: usize| {
            let role = info.operands[index].role;
            matches!(role, Role::Int32 | Role::Float64)
        };
        let operands = row.operands.iter().enumerate();
        let operands = operands.skip(info.n_written());
        let text = |(index, operand): (usize, &OperandInfo)| match operand.role {
            _ if is_immediate(index) => "7".to_owned(),
            Role::Target => "end".to_owned(),
            Role::RIn => "p".to_owned(),
            _ => "a".to_owned(),
        };
        let operands: Vec<String> = operands.map(text).collect();
        let equals = if info.n_written() > 0 { "x = " } else { "" };
        let ops = ops(&format!(
            "{equals}{} {}\nend:",
            row.mnemonic,
            operands.join(", ")
        ));
        assert_eq!(ops.len() - usize::from(row.has_targets()), 1, "{ops:?}");
        assert!(ops[0].contains(&format!("{} ", info.mnemonic)), "{ops:?}");
    }
    assert_eq!(n_rows, 38, "rows with immediates");
}

#[test]
fn an_immediate_may_stand_on_the_left() {
    for (written, expected) in [
        ("x = add 7, a", "i2 = add_imm i0, 7"),
        ("x = mul 7, a", "i2 = mul_imm i0, 7"),
        ("x = sub 7, a", "i2 = rsub_imm i0, 7"),
        ("x = sub a, 7", "i2 = add_imm i0, -7"),
        ("x = sub_ovf a, 7", "i2 = add_ovf_imm i0, -7"),
        ("x = add_ovf 7, a", "i2 = add_ovf_imm i0, 7"),
        ("x = xor 7, a", "i2 = xor_imm i0, 7"),
        ("x = sub_ovf 7, a", "i2 = rsub_ovf_imm i0, 7"),
        ("x = lt 7, a", "i2 = gt_imm i0, 7"),
        ("x = le 7, a", "i2 = ge_imm i0, 7"),
        ("x = fsub n, 2", "i2 = fadd_imm i1, -2.0"),
        ("x = fsub 2.5, n", "i2 = frsub_imm i1, 2.5"),
        ("x = fdiv 1, n", "i2 = frdiv_imm i1, 1.0"),
        ("x = tsub p, 7", "r1 = tadd_imm r0, -7"),
        ("jlt 7, a, end\nend:", "jgt_imm i0, 7, L0"),
        ("jle 7, a, end\nend:", "jge_imm i0, 7, L0"),
        ("jgt 7, a, end\nend:", "jlt_imm i0, 7, L0"),
        ("jge 7, a, end\nend:", "jle_imm i0, 7, L0"),
        ("jeq 7, a, end\nend:", "jeq_imm i0, 7, L0"),
        ("jne 7, a, end\nend:", "jne_imm i0, 7, L0"),
    ] {
        assert_eq!(ops(written)[0], expected, "{written}");
    }
}

#[test]
fn other_literals_are_put_into_registers_right_before() {
    for (written, expected) in [
        ("x = shl 2, a", &["i3 = int 2", "i2 = shl i3, i0"][..]),
        ("x = sub 7, 8", &["i3 = int 7", "i2 = add_imm i3, -8"]),
        (
            "x = add a, 0x100000000",
            &["i3 = int 4294967296", "i2 = add i0, i3"],
        ),
        (
            "x = sub a, -2147483648",
            &["i3 = int -2147483648", "i2 = sub i0, i3"],
        ),
        ("x = cat p, \"x\"", &["r2 = text \"x\"", "r1 = cat r0, r2"]),
        ("x = flt n, 2", &["i3 = float 2.0", "i2 = flt i1, i3"]),
        (
            "x = new 7, [\"boom\"], [a, 1.5]",
            &[
                "r2 = text \"boom\"",
                "i2 = float 1.5",
                "r1 = new 7, [r2], [i0, i2]",
            ],
        ),
        ("x = mov 5", &["i2 = int 5"]),
        ("x = rmov \"s\"", &["r1 = text \"s\""]),
        (
            "x = len bytes \"ab\"",
            &["r1 = data bytes [97, 98]", "i2 = len r1"],
        ),
    ] {
        assert_eq!(ops(written), expected, "{written}");
    }
}

#[test]
fn equal_literals_of_an_op_share_a_register() {
    assert_eq!(
        ops("copy p, 0, p, 0, 9"),
        ["i2 = int 0", "i3 = int 9", "copy r0, i2, r0, i2, i3"]
    );
    let zeros = ops("x = new 1, [], [0.0, -0.0, 0.0]");
    assert_eq!(zeros[2], "r1 = new 1, [], [i2, i3, i2]");
}

#[test]
fn a_literals_register_is_free_behind_its_op() {
    let lines: String = (0..1000)
        .map(|n| format!("x = shl {n}, a\ny = cat p, \"{n}\"\n"))
        .collect();
    let ops = ops(&lines);
    assert_eq!(ops.len(), 4000);
    assert_eq!(ops[3999], "r1 = cat r0, r2");
    assert!(
        ops.iter().all(|op| !op.contains("i4")),
        "more than one i register"
    );
}

/// What a call with windows leaves in them may be read without ever being named.
#[test]
fn a_literals_register_is_no_result_of_a_window() {
    let text = "fun two() -> (i, i) {\n    ret 1, 2\n}\n\
                fun take(a: i, b: i) { ret }\n\
                fun main() {\n    call two, i0, r1\n    i5 = shl 7, i0\n    call take, i0, r1\n    \
                ret\n}\n";
    let module = assemble(text, &AssembleOptions::default()).expect("it verifies");
    let printed = print(&module);
    assert!(printed.contains("i2 = int 7"), "{printed}");
}

#[test]
fn a_captured_integer_is_a_double_where_the_capture_is_one() {
    let text = "closure fun g{a: i, s: r, b: f}() { ret }\n\
                fun main() {\n    c = closure g, [\"s\"], [2, 2]\n    ret\n}\n";
    let module = assemble(text, &AssembleOptions::default()).expect("it verifies");
    let printed = print(&module);
    assert!(printed.contains("i0 = int 2\n"), "{printed}");
    assert!(printed.contains("i1 = float 2.0\n"), "{printed}");
}

#[test]
fn a_literal_has_the_line_of_its_op() {
    let text = "fun main() {\n    x = 1\n    x = rem x, 2\n\n    call print_int(x)\n    ret\n}\n";
    let module = assemble(text, &AssembleOptions::default()).expect("it verifies");
    let lines: Vec<u32> = module.functions[0]
        .lines
        .iter()
        .map(|entry| entry.line)
        .collect();
    assert_eq!(lines, [2, 3, 5, 6]);
}

/// The text's jump is in the branch, and what the literal needs stands behind its beginning.
#[test]
fn a_raised_literal_leaves_what_is_open() {
    let text = "fun f() {\n    .branch \"b\"\n    raise \"boom\"\n    .end_branch\n}\n\
                fun main() { ret }\n";
    let options = AssembleOptions {
        profile_branch: true,
        ..AssembleOptions::default()
    };
    let printed = print(&assemble(text, &options).expect("it verifies"));
    let start = printed.find("fun f(").expect("the function is printed");
    let mnemonics: Vec<&str> = printed[start..]
        .lines()
        .skip(1)
        .take_while(|line| *line != "}")
        .map(|line| line.trim().split(' ').next().unwrap_or_default())
        .filter(|word| *word != ".line")
        .collect();
    assert_eq!(
        mnemonics,
        ["enter", "enter", "r0", "leave", "leave", "raise"]
    );
}
