;; A counting loop of 10^8 rounds around an `if` that no branch prediction can learn: whether
;; doubling modulo a prime wraps around.

(module
  (func $loop (param $count i64) (param $prime i64) (result i64)
    (local $x i64) (local $n i64)
    (local.set $x (i64.const 1))
    (local.set $n (i64.const 1))
    (loop $next
      (local.set $x (i64.add (local.get $x) (local.get $x)))
      (if (i64.ge_s (local.get $x) (local.get $prime))
        (then (local.set $x (i64.sub (local.get $x) (local.get $prime)))))
      (local.set $n (i64.add (local.get $n) (i64.const 1)))
      (br_if $next (i64.le_s (local.get $n) (local.get $count))))
    (local.get $x))

  (func (export "run") (result i64)
    (call $loop (i64.const 100000000) (i64.const 1000000007))))
