; Binary trees, grown and forgotten: records and the garbage collector.
;
; A tree is a record with two references, its subtrees, and no raw fields; a leaf's are null. What
; can no longer be reached is collected without being asked.

fun grow(depth: i) -> r {
    jeq depth, 0, leaf
    depth = sub depth, 1
    left = call grow(depth)
    right = call grow(depth)
    tree = new 1, [left, right], []
    ret tree
leaf:
    none = null
    tree = new 1, [none, none], []
    ret tree
}

; The number of records in a tree.
fun size(tree: r) -> i {
    left = ld_r tree, 0
    jnonnull left, node
    ret 1
node:
    a = call size(left)
    right = ld_r tree, 1
    b = call size(right)
    a = add a, b
    a = add a, 1
    ret a
}

; Grows and counts many trees of one depth, of which each dies young.
fun forest(count: i, depth: i) {
    total = 0
    left = count
next:
    tree = call grow(depth)
    n = call size(tree)
    total = add total, n
    left = sub left, 1
    jgt left, 0, next
    call print_int(count)
    call print(" trees of depth ")
    call print_int(depth)
    call print(": ")
    call print_int(total)
    call print(" records\n")
    ret
}

fun main() {
    max_depth = 8
    ; One tree lives as long as the program.
    long_lived = call grow(max_depth)
    depth = 2
next:
    ; Fewer trees when they are bigger: 2 to the power of max_depth - depth + 2.
    shift = sub max_depth, depth
    count = 4
    count = shl count, shift
    call forest(count, depth)
    depth = add depth, 2
    jle depth, max_depth, next
    n = call size(long_lived)
    call print("the long-lived tree: ")
    call print_int(n)
    call print(" records\n")
    ret
}
