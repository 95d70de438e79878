;; The tightest loop: s += j; j++, 10^8 times.

(module
  (func $loop (param $limit i64) (result i64)
    (local $sum i64) (local $n i64)
    (local.set $n (i64.const 1))
    (loop $next
      (local.set $sum (i64.add (local.get $sum) (local.get $n)))
      (local.set $n (i64.add (local.get $n) (i64.const 1)))
      (br_if $next (i64.le_s (local.get $n) (local.get $limit))))
    (local.get $sum))

  (func (export "run") (result i64)
    (call $loop (i64.const 100000000))))
