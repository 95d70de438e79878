(* 10^8 tail calls between two functions. *)

let rec even n = if n = 0 then 1 else odd (n - 1)
and odd n = if n = 0 then 0 else even (n - 1)

let () = Printf.printf "%d\n" (even 100_000_000)
