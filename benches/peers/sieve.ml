(* The primes below 2 * 10^6, five times: array reads, array writes and loops. *)

let sieve limit =
  let is_composite = Bytes.make limit '\000' in
  let count = ref 0 in
  for n = 2 to limit - 1 do
    if Bytes.get is_composite n = '\000' then begin
      incr count;
      let multiple = ref (n + n) in
      while !multiple < limit do
        Bytes.set is_composite !multiple '\001';
        multiple := !multiple + n
      done
    end
  done;
  !count

let () =
  let sum = ref 0 in
  for _ = 1 to 5 do sum := !sum + sieve 2_000_000 done;
  Printf.printf "%d\n" !sum
