(* A counting loop of 10^8 rounds around an `if` that no branch prediction can learn: whether
   doubling modulo a prime wraps around. *)

let loop count prime =
  let x = ref 1 in
  for _ = 1 to count do
    x := !x + !x;
    if !x >= prime then x := !x - prime
  done;
  !x

let () = Printf.printf "%d\n" (loop 100_000_000 1_000_000_007)
