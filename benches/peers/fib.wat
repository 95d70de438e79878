;; fib(35): calls and returns.

(module
  (func $fib (param $n i64) (result i64)
    (if (i64.lt_s (local.get $n) (i64.const 2)) (then (return (local.get $n))))
    (i64.add
      (call $fib (i64.sub (local.get $n) (i64.const 1)))
      (call $fib (i64.sub (local.get $n) (i64.const 2)))))

  (func (export "run") (result i64)
    (call $fib (i64.const 35))))
