//! A session that defines the same function over and over holds no more than before. This is a
//! program of its own, so that nothing else takes memory meanwhile.

#[path = "support/campaign.rs"]
mod campaign;

use std::fs;

use repl::{Reply, Session, SessionIo};

#[test]
fn thousands_of_redefinitions_leave_nothing_behind() {
    let mut session = Session::new(SessionIo::new(std::io::sink()));
    session.answer("fun g(n: i) -> i { n = call f(n)\n ret n }");
    session.answer("fun f(n: i) -> i { ret n }");
    session.answer("fun g(n: i) -> i { n = call f(n)\n ret n }");
    let n_rounds = campaign::size(2_000, 20_000);
    let mut held = 0;
    for round in 0..n_rounds {
        let text = format!("fun f(n: i) -> i {{ n = add n, {round}\n ret n }}");
        assert_eq!(session.answer(&text), Reply::Text("redefined f\n".into()));
        session.answer(&format!("let x = [{round}, 1]"));
        if round % 100 == 0 {
            let expected = Reply::Text(format!("{}\n", round + 1));
            assert_eq!(session.answer("g(1)"), expected);
        }
        if round == n_rounds / 10 {
            held = resident_bytes();
        }
    }
    let grown = resident_bytes().saturating_sub(held);
    assert!(grown < 16 << 20, "the session has grown by {grown} bytes");
}

/// Memory of this process, or 0 where the system does not tell.
fn resident_bytes() -> usize {
    let text = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text
        .split(' ')
        .nth(1)
        .and_then(|pages| pages.parse::<usize>().ok());
    pages.unwrap_or(0) * 4096
}
