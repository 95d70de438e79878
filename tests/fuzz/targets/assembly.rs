//! Target `assembly`: any text. It is assembled, or there are errors that can be shown; what was
//! assembled is written, printed, and assembled again to the same module.

use assembler::{
    AssembleOptions, MAX_DIAGNOSTICS, assemble, function_names, print, print_verified,
};
use vm::host::STANDARD;
use vm::isa::OPS;
use vm::module::{read, write};
use vm::verify::verify;

use super::examples::{options, texts};
use super::input::Input;

/// Words of the language besides ops and host functions, with what often stands around them.
const WORDS: [&str; 64] = [
    "\n",
    "\n}\n",
    "{\n",
    " ",
    ", ",
    " = ",
    "fun ",
    "fun main() {\n",
    "fun f(n: i) -> i {\n",
    "fun g(x: r, n: i) -> (i, r) {\n",
    "closure fun c{k: i, q: r}(n: i) -> i {\n",
    "host h(i) -> i\n",
    "export ",
    "x",
    "n",
    "k",
    "q",
    "y: r",
    "m: f",
    "a",
    "0",
    "1",
    "-1",
    "65535",
    "2.5",
    "'c'",
    "\"text\"",
    "9223372036854775807",
    "null",
    "(",
    ")",
    "[",
    "]",
    "x = ",
    "n = ",
    "call f(n)\n",
    "call g(x, n)\n",
    "tail_call f(n)\n",
    "call_closure x(n)\n",
    "closure c, [x], [n]\n",
    "new 1, [x], [n]\n",
    "cap k\n",
    "ret\n",
    "ret n\n",
    "ret n, x\n",
    "try h(e) {\n",
    "h:",
    "l: ",
    "jmp l\n",
    "jgt n, 0, l\n",
    "switch n, [l, h]\n",
    "raise x\n",
    "i64 [1, 2]\n",
    "bytes [1]\n",
    "f64 [1.5]\n",
    ".line 3\n",
    ".file \"a\"\n",
    ".branch b {\n",
    "source s \"a\" 1\n",
    "; note\n",
    "enter s\n",
    "leave s\n",
    "\\x00",
    "é",
];

/// Assembles a text, which is told by words or as it stands; whether it assembled.
pub fn run(bytes: &[u8]) -> bool {
    let mut input = Input::new(bytes);
    let choice = input.byte();
    let text = match choice >> 6 {
        0 => told(&mut input),
        _ => String::from_utf8_lossy(input.rest()).into_owned(),
    };
    function_names(&text);
    let module = match assemble(&text, &options(u32::from(choice))) {
        Ok(module) => module,
        Err(errors) => {
            assert!(!errors.is_empty() && errors.len() <= MAX_DIAGNOSTICS);
            for error in &errors {
                let shown = error.render("input.asm", &text);
                assert!(shown.len() < 4096, "{shown}");
            }
            return false;
        }
    };
    let bytes = write(&module);
    let again = read(&bytes).expect("what is written is read");
    let verified = verify(again).expect("what the assembler makes verifies");
    let printed = print_verified(&verified);
    assert_eq!(printed, print(&module));
    match assemble(&printed, &AssembleOptions::default()) {
        Ok(again) => assert!(write(&again) == bytes, "{printed}"),
        Err(errors) => panic!("{errors:?}\n{printed}"),
    }
    true
}

/// A text that the input tells word by word.
fn told(input: &mut Input) -> String {
    let mut text = String::new();
    while !input.is_empty() && text.len() < 1 << 14 {
        match input.byte() {
            op @ 0xc0.. => {
                let place = usize::from(op & 0x3f) << 2 | input.below(4);
                let words = OPS.iter().map(|info| info.mnemonic);
                let words = words.chain(STANDARD.iter().map(|function| function.name));
                text += words.clone().cycle().nth(place).unwrap_or_default();
                text.push(' ');
            }
            word => text += WORDS[usize::from(word) % WORDS.len()],
        }
    }
    text
}

/// The examples, as they are and printed.
pub fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = vec![(0..64).collect()];
    for (number, text) in (0x40_u8..).zip(texts()) {
        seeds.push([&[number], text.as_bytes()].concat());
        if let Ok(module) = assemble(text, &options(u32::from(number))) {
            seeds.push([&[number], print(&module).as_bytes()].concat());
        }
    }
    seeds
}

/// What texts are made of.
pub fn words() -> Vec<String> {
    let ops = OPS.iter().map(|info| info.mnemonic);
    let hosts = STANDARD.iter().map(|function| function.name);
    let words = WORDS.into_iter().filter(|word| !word.trim().is_empty());
    ops.chain(hosts).chain(words).map(str::to_owned).collect()
}
