; Allocation and collection: binary trees of depth 12, built and counted.
fun make(depth: i) -> r {
    jgt depth, 0, node
    leaf = null
    leaf = new 0, [leaf, leaf], []
    ret leaf
node:
    d = sub depth, 1
    left = call make(d)
    right = call make(d)
    left = new 0, [left, right], []
    ret left
}
fun check(tree: r) -> i {
    left = ld_r tree, 0
    jnonnull left, node
    ret 1
node:
    a = call check(left)
    right = ld_r tree, 1
    b = call check(right)
    a = add a, b
    a = add a, 1
    ret a
}
fun main() -> i {
    tree = call make(12)
    n = call check(tree)
    ret n
}
