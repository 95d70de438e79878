; Binary trees of depth up to 16: allocation and collection.

fun grow(depth: i) -> r {
    jne depth, 0, node
    none = null
    tree = new 1, [none, none], []
    ret tree
node:
    depth = sub depth, 1
    left = call grow(depth)
    right = call grow(depth)
    tree = new 1, [left, right], []
    ret tree
}

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

fun main() {
    stretch = call grow(17)
    sum = call size(stretch)
    long_lived = call grow(16)
    depth = 4
forest:
    ; 2 to the power of 16 - depth + 4 trees.
    one = 1
    shift = rsub_imm depth, 20
    left = shl one, shift
tree:
    tree = call grow(depth)
    n = call size(tree)
    sum = add sum, n
    left = sub left, 1
    jgt left, 0, tree
    depth = add depth, 2
    jle depth, 16, forest
    n = call size(long_lived)
    sum = add sum, n
    call print_int(sum)
    call print("\n")
    ret
}
