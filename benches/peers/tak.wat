;; tak(24, 16, 8), 20 times: calls with three arguments. There is no tail call in plain
;; WebAssembly, so the last one is a loop.

(module
  (func $tak (param $x i64) (param $y i64) (param $z i64) (result i64)
    (local $a i64) (local $b i64)
    (loop $again
      (if (i64.ge_s (local.get $y) (local.get $x)) (then (return (local.get $z))))
      (local.set $a
        (call $tak (i64.sub (local.get $x) (i64.const 1)) (local.get $y) (local.get $z)))
      (local.set $b
        (call $tak (i64.sub (local.get $y) (i64.const 1)) (local.get $z) (local.get $x)))
      (local.set $z
        (call $tak (i64.sub (local.get $z) (i64.const 1)) (local.get $x) (local.get $y)))
      (local.set $x (local.get $a))
      (local.set $y (local.get $b))
      (br $again))
    (unreachable))

  (func (export "run") (result i64)
    (local $sum i64) (local $left i64)
    (local.set $left (i64.const 20))
    (loop $next
      (local.set $sum
        (i64.add (local.get $sum) (call $tak (i64.const 24) (i64.const 16) (i64.const 8))))
      (local.set $left (i64.sub (local.get $left) (i64.const 1)))
      (br_if $next (i64.gt_s (local.get $left) (i64.const 0))))
    (local.get $sum)))
