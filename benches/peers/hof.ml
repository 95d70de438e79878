(* `map` and `fold` with closures over a list of 1,000 elements, 15,000 times. *)

let rec map f = function
  | [] -> []
  | x :: xs ->
    let x = f x in
    x :: map f xs

let rec fold f total = function
  | [] -> total
  | x :: xs -> fold f (f total x) xs

let () =
  let rec range n to_ = if n > to_ then [] else n :: range (n + 1) to_ in
  let xs = range 1 1000 in
  let plus x y = x + y in
  let sum = ref 0 in
  for n = 1 to 15000 do
    let ys = map (fun x -> x + n) xs in
    sum := !sum + fold plus 0 ys
  done;
  Printf.printf "%d\n" !sum
