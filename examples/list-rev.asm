; Naive list reversal: whose are all those bytes?
;
; `rev` appends each head to the end of the reversed tail, and `append` copies all but the end.
; For 1,000 elements that is half a million cells of 24 bytes, which an allocation profile shows:
; 11,988,000 bytes in `append`, 24,000 in `rev`. A count profile shows 500,500 calls of `append`,
; 1,001 of `rev` and 1,000 of `fn`, the function that is tabulated.
;
; A cell is a record with one reference, the tail, and one raw field, the head. The empty list is
; null. A compiler says by `.file` and `.line` from which source its code comes; this is what it
; could make of an ML program.

.file "list-rev.sml"

.line 1
fun append(xs: r, ys: r) -> r {
    .line 2
    jnull xs, empty
    .line 4
    head = ld_i xs, 0
    tail = ld_r xs, 0
    rest = call append(tail, ys)
    joined = new 1, [rest], [head]
    ret joined
empty:
    .line 3
    ret ys
}

.line 6
fun rev(xs: r) -> r {
    .line 7
    jnull xs, nothing
    .line 9
    head = ld_i xs, 0
    tail = ld_r xs, 0
    reversed = call rev(tail)
    empty = null
    last = new 1, [empty], [head]
    ; What a tail call returns, the caller returns: its frame is gone before `append` starts.
    tail_call append(reversed, last)
nothing:
    .line 8
    ret null
}

.line 11
closure fun fn(n: i) -> i {
    ret n
}

fun main() {
    ; The list fn 0, fn 1, ..., fn 999, made from its end.
    .line 11
    f = closure fn, [], []
    n = 999
    xs = null
tabulate:
    x: i = call_closure f(n)
    xs = new 1, [xs], [x]
    n = sub n, 1
    jge n, 0, tabulate
    .line 12
    reversed = call rev(xs)
    head = ld_i reversed, 0
    call print_int(head)
    call print("\n")
    ret
}
