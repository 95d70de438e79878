(* tak(24, 16, 8), 20 times: calls with three arguments, and a tail call. *)

let rec tak x y z =
  if y >= x then z
  else tak (tak (x - 1) y z) (tak (y - 1) z x) (tak (z - 1) x y)

let () =
  let sum = ref 0 in
  for _ = 1 to 20 do sum := !sum + tak 24 16 8 done;
  Printf.printf "%d\n" !sum
