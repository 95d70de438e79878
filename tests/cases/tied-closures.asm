; args: --gc-stress --nursery 16K
; Two closures that refer to one another are tied with st_cap_r; stores to no closure fault.
closure fun even{odd: r, calls: i}(n: i) -> i {
    calls = cap calls
    calls = add calls, 1
    st_cap_i self, 0, calls
    jeq n, 0, yes
    odd = cap odd
    n = sub n, 1
    n = call_closure odd(n)
    ret n
yes:
    ret 1
}
closure fun odd{even: r}(n: i) -> i {
    s = str_of_int n                ; something to collect
    jeq n, 0, no
    even = cap even
    n = sub n, 1
    tail_call_closure even(n)
no:
    ret 0
}
fun fault(e: r) {
    code = ld_i e, 0
    call print("!")
    call print_int(code)
    call print(" ")
    ret
}
fun main() {
    even = closure even, [null], [0]
    odd = closure odd, [even], []
    st_cap_r even, 0, odd
    n = call_closure even(20)
    call print_int(n)
    n = call_closure even(21)
    call print_int(n)
    n = call_closure odd(21)
    call print_int(n)
    n = cap_i even, 0
    call print(" ")
    call print_int(n)
    call print(" ")
    own = closure odd, [null], []
    st_cap_r own, 0, own
    x = cap_r own, 0
    n = same x, own
    call print_int(n)
    call print(" ")
    try field(e) {
        st_cap_r odd, 1, null
    }
    match_fail
field:
    call fault(e)
    try int_field(e) {
        st_cap_i odd, 0, 5
    }
    match_fail
int_field:
    call fault(e)
    try record(e) {
        x = new 1, [null], [0]
        st_cap_r x, 0, null
    }
    match_fail
record:
    call fault(e)
    try nothing(e) {
        st_cap_i null, 0, 5
    }
    match_fail
nothing:
    call fault(e)
    try of_closure(e) {
        st_r odd, 0, null
    }
    match_fail
of_closure:
    call fault(e)
    call print("\n")
    ret
}
