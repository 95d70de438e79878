; N queens that do not attack each other: bits, recursion and a small loop.
;
; Rows are filled from the top. In the words `columns`, `left` and `right` a bit is set for each
; square of the current row that an earlier queen attacks: straight down, or down to a side.

; The number of ways to fill the rows that are left. `all` has a bit for each column.
fun solve(all: i, columns: i, left: i, right: i) -> i {
    jne columns, all, search
    ret 1
search:
    count = 0
    taken = or columns, left
    taken = or taken, right
    free = xor taken, all
    free = and free, all
    jeq free, 0, done
place:
    ; The lowest bit of a word is what it has in common with its negative.
    queen = neg free
    queen = and queen, free
    free = xor free, queen
    down = or columns, queen
    to_left = or left, queen
    to_left = shl to_left, 1
    to_right = or right, queen
    to_right = shr to_right, 1
    found = call solve(all, down, to_left, to_right)
    count = add count, found
    jne free, 0, place
done:
    ret count
}

fun main() {
    n = 1
next:
    call print_int(n)
    call print(" queens: ")
    one = 1
    all = shl one, n
    all = sub all, 1
    count = call solve(all, 0, 0, 0)
    call print_int(count)
    call print("\n")
    n = add n, 1
    jle n, 8, next
    ret
}
