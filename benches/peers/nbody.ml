(* Five bodies under gravity, 500,000 steps: arithmetic of doubles in records. *)

type body = {
  mutable x : float; mutable y : float; mutable z : float;
  mutable vx : float; mutable vy : float; mutable vz : float;
  mass : float;
}

let body x y z vx vy vz mass = { x; y; z; vx; vy; vz; mass }

let all = [|
  body 0.0 0.0 0.0 0.0 0.0 0.0 39.47841760435743;
  body 4.84143144246472090e+00 (-1.16032004402742839e+00) (-1.03622044471123109e-01)
    0.606326392995832 2.81198684491626 (-0.02521836165988763) 0.03769367487038949;
  body 8.34336671824457987e+00 4.12479856412430479e+00 (-4.03523417114321381e-01)
    (-1.0107743461787924) 1.8256623712304119 0.008415761376584154 0.011286326131968767;
  body 1.28943695621391310e+01 (-1.51111514016986312e+01) (-2.23307578892655734e-01)
    1.0827910064415354 0.8687130181696082 (-0.010832637401363636) 0.0017237240570597112;
  body 1.53796971148509165e+01 (-2.59193146099879641e+01) 1.79258772950371181e-01
    0.979090732243898 0.5946989986476762 (-0.034755955504078104) 0.0020336868699246304;
|]

let offset_momentum () =
  let px = ref 0.0 and py = ref 0.0 and pz = ref 0.0 in
  Array.iter (fun b ->
    px := !px -. b.vx *. b.mass;
    py := !py -. b.vy *. b.mass;
    pz := !pz -. b.vz *. b.mass) all;
  let sun = all.(0) in
  sun.vx <- !px /. sun.mass;
  sun.vy <- !py /. sun.mass;
  sun.vz <- !pz /. sun.mass

let energy () =
  let total = ref 0.0 in
  for n = 0 to Array.length all - 1 do
    let b = all.(n) in
    total := !total +. 0.5 *. b.mass *. (b.vx *. b.vx +. b.vy *. b.vy +. b.vz *. b.vz);
    for m = n + 1 to Array.length all - 1 do
      let o = all.(m) in
      let dx = b.x -. o.x and dy = b.y -. o.y and dz = b.z -. o.z in
      total := !total -. b.mass *. o.mass /. sqrt (dx *. dx +. dy *. dy +. dz *. dz)
    done
  done;
  !total

let advance dt =
  for n = 0 to Array.length all - 1 do
    let b = all.(n) in
    let x = b.x and y = b.y and z = b.z in
    let vx = ref b.vx and vy = ref b.vy and vz = ref b.vz in
    let mass = b.mass in
    for m = n + 1 to Array.length all - 1 do
      let o = all.(m) in
      let dx = x -. o.x and dy = y -. o.y and dz = z -. o.z in
      let square = dx *. dx +. dy *. dy +. dz *. dz in
      let pull = dt /. (square *. sqrt square) in
      let other_mass = o.mass *. pull in
      vx := !vx -. dx *. other_mass;
      vy := !vy -. dy *. other_mass;
      vz := !vz -. dz *. other_mass;
      let pull = mass *. pull in
      o.vx <- o.vx +. dx *. pull;
      o.vy <- o.vy +. dy *. pull;
      o.vz <- o.vz +. dz *. pull
    done;
    b.vx <- !vx;
    b.vy <- !vy;
    b.vz <- !vz;
    b.x <- x +. dt *. !vx;
    b.y <- y +. dt *. !vy;
    b.z <- z +. dt *. !vz
  done

let () =
  offset_momentum ();
  for _ = 1 to 500_000 do advance 0.01 done;
  (* Nine digits behind the point, as an integer. *)
  Printf.printf "%d\n" (truncate (energy () *. 1e9))
