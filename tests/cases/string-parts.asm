; Parts of strings and byte arrays: find, hash, decimals, comparison and jump; faults show their codes.
fun show(n: i) {
    call print_int(n)
    call print(" ")
    ret
}
fun fault(e: r) {
    code = ld_i e, 0
    call print("!")
    call print_int(code)
    call print(" ")
    ret
}
fun where(all: r, part: r, at: i) {
    try failed(e) {
        n = find all, part, at
        call show(n)
        ret
    }
    match_fail
failed:
    call fault(e)
    ret
}
fun finds() {
    call where("abcabc", "abc", 0)
    call where("abcabc", "abc", 1)
    call where("abcabc", "abc", 4)
    call where("abcabc", "c", 5)
    call where("abcabc", "c", 6)
    call where("abcabc", "c", 7)
    call where("abcabc", "", 0)
    call where("abcabc", "", 6)
    call where("abcabc", "", 7)
    call where("abcabc", "a", -1)
    call where("", "", 0)
    call where("", "a", 0)
    call where("ab", "abc", 0)
    call where("aaab", "aab", 0)
    call print("\n")
    b = new_b 4, 'x'
    call where(b, "xx", 1)
    call where("axxxx", b, 0)
    call where(b, b, 0)
    call where(null, "a", 0)
    call where("a", null, 0)
    i = data i64 [1]
    call where(i, "a", 9)
    call print("\n")
    ret
}
fun hashes() {
    n = hash ""
    call show(n)
    n = hash "a"
    call show(n)
    b = new_b 1, 'a'
    n = hash b
    call show(n)
    n = hash "eight ch"
    call show(n)
    n = hash "nine char"
    call show(n)
    try failed(e) {
        n = hash null
    }
    match_fail
failed:
    call fault(e)
    call print("\n")
    ret
}
fun put(at: i, n: i) {
    b = new_b 20, '.'
    try failed(e) {
        at = put_int b, at, n
        call show(at)
    }
    jmp shown
failed:
    call fault(e)
shown:
    s = str_of_bytes b
    call print(s)
    call print("\n")
    ret
}
fun puts() {
    call put(0, 0x8000000000000000)
    call put(1, 0x8000000000000000)
    call put(0, 0x7fffffffffffffff)
    call put(19, 7)
    call put(19, -7)
    call put(20, 7)
    call put(-1, 7)
    call put(0x7fffffffffffffff, 0)
    try kind(e) {
        n = put_int "123", 0, 1
    }
    match_fail
kind:
    call fault(e)
    call print("\n")
    ret
}
fun equal(a: r, b: r) {
    try failed(e) {
        jstreq a, b, same
        call print("other ")
        jmp again
    same:
        call print("same ")
    again:
        jstrne a, b, differ
        call print("same ")
        ret
    differ:
        call print("other ")
        ret
    }
    match_fail
failed:
    call fault(e)
    ret
}
fun jumps() {
    call equal("", "")
    call equal("", "a")
    s = cat "eight", " ch"
    call equal(s, "eight ch")
    call equal(s, "eight cH")
    call equal(s, "eight ch9")
    call equal(s, s)
    call equal(null, "a")
    b = new_b 1, 'a'
    call equal("a", b)
    call equal(null, null)
    call print("\n")
    s = sub_str b, 0, 1
    call print(s)
    s = sub_str b, 1, 0
    call print(s)
    try failed(e) {
        s = sub_str b, 1, 1
    }
    match_fail
failed:
    call fault(e)
    call print("\n")
    ret
}
fun main() {
    call finds()
    call hashes()
    call puts()
    call jumps()
    ret
}
