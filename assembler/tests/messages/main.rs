//! One test for each thing that can be wrong with a text: the message is the expectation.

mod calls;
mod declarations;
mod globals;
mod operands;
mod syntax;

use assembler::{AssembleOptions, assemble};
use expect_test::Expect;

fn check(text: &str, expected: Expect) {
    let options = AssembleOptions {
        profile_branch: true,
        ..Default::default()
    };
    let rendered: String = match assemble(text, &options) {
        Ok(_) => "no error".into(),
        Err(errors) => errors
            .iter()
            .map(|error| error.render("a.asm", text))
            .collect(),
    };
    expected.assert_eq(&rendered);
}
