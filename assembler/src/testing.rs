//! What the tests of passes and messages share.

use expect_test::Expect;

use crate::{AssembleOptions, assemble};

/// The first function of a text, assembled, without its lines; or the errors.
pub(crate) fn check_ops(text: &str, options: &AssembleOptions, expected: Expect) {
    let actual = match assemble(text, options) {
        Ok(module) => crate::print::print_ops(&module, &module.functions[0]),
        Err(errors) => errors
            .iter()
            .map(|error| error.render(&options.file_name, text))
            .collect(),
    };
    expected.assert_eq(&actual);
}
