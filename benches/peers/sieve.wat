;; The primes below 2 * 10^6, five times: memory reads, memory writes and loops.

(module
  (memory 32)

  (func $sieve (param $limit i32) (result i64)
    (local $count i64) (local $n i32) (local $multiple i32)
    (loop $clear
      (i32.store8 (local.get $n) (i32.const 0))
      (local.set $n (i32.add (local.get $n) (i32.const 1)))
      (br_if $clear (i32.lt_s (local.get $n) (local.get $limit))))
    (local.set $n (i32.const 2))
    (loop $next
      (if (i32.eqz (i32.load8_u (local.get $n)))
        (then
          (local.set $count (i64.add (local.get $count) (i64.const 1)))
          (local.set $multiple (i32.add (local.get $n) (local.get $n)))
          (if (i32.lt_s (local.get $multiple) (local.get $limit))
            (then
              (loop $cross_out
                (i32.store8 (local.get $multiple) (i32.const 1))
                (local.set $multiple (i32.add (local.get $multiple) (local.get $n)))
                (br_if $cross_out (i32.lt_s (local.get $multiple) (local.get $limit))))))))
      (local.set $n (i32.add (local.get $n) (i32.const 1)))
      (br_if $next (i32.lt_s (local.get $n) (local.get $limit))))
    (local.get $count))

  (func (export "run") (result i64)
    (local $sum i64) (local $left i32)
    (local.set $left (i32.const 5))
    (loop $next
      (local.set $sum (i64.add (local.get $sum) (call $sieve (i32.const 2000000))))
      (local.set $left (i32.sub (local.get $left) (i32.const 1)))
      (br_if $next (i32.gt_s (local.get $left) (i32.const 0))))
    (local.get $sum)))
