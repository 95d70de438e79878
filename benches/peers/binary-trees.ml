(* Binary trees of depth up to 16: allocation and collection. *)

type tree = Empty | Node of tree * tree

let rec grow depth =
  if depth = 0 then Node (Empty, Empty)
  else
    let depth = depth - 1 in
    let left = grow depth in
    let right = grow depth in
    Node (left, right)

let rec size = function
  | Empty -> 0
  | Node (Empty, _) -> 1
  | Node (left, right) -> size left + size right + 1

let () =
  let sum = ref (size (grow 17)) in
  let long_lived = grow 16 in
  let depth = ref 4 in
  while !depth <= 16 do
    for _ = 1 to 1 lsl (20 - !depth) do sum := !sum + size (grow !depth) done;
    depth := !depth + 2
  done;
  sum := !sum + size long_lived;
  Printf.printf "%d\n" !sum
