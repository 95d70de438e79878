(* The tightest loop: s += j; j++, 10^8 times. *)

let loop limit =
  let sum = ref 0 in
  for n = 1 to limit do
    sum := !sum + n
  done;
  !sum

let () = Printf.printf "%d\n" (loop 100_000_000)
