; The outer planets and the sun under gravity: arithmetic of doubles in records.
;
; Each body is a record of seven doubles. Energy should stay almost the same however long the
; planets move; another number of steps than 1,000 may be given as an argument.
;
; Raw fields:  0 to 2 position, 3 to 5 velocity, 6 mass.

; The rows of the bodies, one after the other: sun, Jupiter, Saturn, Uranus, Neptune.
data bodies = f64 [
    0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 39.47841760435743,
    4.84143144246472090e+00, -1.16032004402742839e+00, -1.03622044471123109e-01,
    0.606326392995832, 2.81198684491626, -0.02521836165988763, 0.03769367487038949,
    8.34336671824457987e+00, 4.12479856412430479e+00, -4.03523417114321381e-01,
    -1.0107743461787924, 1.8256623712304119, 0.008415761376584154, 0.011286326131968767,
    1.28943695621391310e+01, -1.51111514016986312e+01, -2.23307578892655734e-01,
    1.0827910064415354, 0.8687130181696082, -0.010832637401363636, 0.0017237240570597112,
    1.53796971148509165e+01, -2.59193146099879641e+01, 1.79258772950371181e-01,
    0.979090732243898, 0.5946989986476762, -0.034755955504078104, 0.0020336868699246304
]

; An array of records from the rows.
fun read_bodies() -> r {
    rows = data bodies
    values = len rows
    seven = 7
    count = quot values, seven
    none = null
    all = new_r count, none
    at = 0
    n = 0
next:
    x = get_f rows, at
    at = add at, 1
    y = get_f rows, at
    at = add at, 1
    z = get_f rows, at
    at = add at, 1
    vx = get_f rows, at
    at = add at, 1
    vy = get_f rows, at
    at = add at, 1
    vz = get_f rows, at
    at = add at, 1
    mass = get_f rows, at
    at = add at, 1
    body = new 1, [], [x, y, z, vx, vy, vz, mass]
    set_r all, n, body
    n = add n, 1
    jlt n, count, next
    ret all
}

; Gives the sun the velocity that keeps all together in place.
fun offset_momentum(all: r) {
    px = 0.0
    py = 0.0
    pz = 0.0
    count = len all
    n = 0
next:
    body = get_r all, n
    mass = ld_i body, 6
    v = ld_i body, 3
    v = fmul v, mass
    px = fsub px, v
    v = ld_i body, 4
    v = fmul v, mass
    py = fsub py, v
    v = ld_i body, 5
    v = fmul v, mass
    pz = fsub pz, v
    n = add n, 1
    jlt n, count, next
    n = 0
    sun = get_r all, n
    mass = ld_i sun, 6
    px = fdiv px, mass
    py = fdiv py, mass
    pz = fdiv pz, mass
    st_i sun, 3, px
    st_i sun, 4, py
    st_i sun, 5, pz
    ret
}

fun energy(all: r) -> f {
    half = 0.5
    total = 0.0
    count = len all
    n = 0
next:
    body = get_r all, n
    x = ld_i body, 0
    y = ld_i body, 1
    z = ld_i body, 2
    vx = ld_i body, 3
    vy = ld_i body, 4
    vz = ld_i body, 5
    mass = ld_i body, 6
    ; Kinetic energy, half of mass times squared speed.
    square = fmul vx, vx
    part = fmul vy, vy
    square = fadd square, part
    part = fmul vz, vz
    square = fadd square, part
    part = fmul half, mass
    part = fmul part, square
    total = fadd total, part
    ; Potential energy with each body behind this one.
    n = add n, 1
    other_n = n
    jge other_n, count, last
other:
    body = get_r all, other_n
    dx = ld_i body, 0
    dx = fsub x, dx
    dy = ld_i body, 1
    dy = fsub y, dy
    dz = ld_i body, 2
    dz = fsub z, dz
    square = fmul dx, dx
    part = fmul dy, dy
    square = fadd square, part
    part = fmul dz, dz
    square = fadd square, part
    distance = fsqrt square
    part = ld_i body, 6
    part = fmul mass, part
    part = fdiv part, distance
    total = fsub total, part
    other_n = add other_n, 1
    jlt other_n, count, other
last:
    jlt n, count, next
    ret total
}

; Moves all bodies by one step of time.
fun advance(all: r, dt: f) {
    count = len all
    n = 0
next:
    body = get_r all, n
    x = ld_i body, 0
    y = ld_i body, 1
    z = ld_i body, 2
    vx = ld_i body, 3
    vy = ld_i body, 4
    vz = ld_i body, 5
    mass = ld_i body, 6
    n = add n, 1
    m = n
    jge m, count, move
attract:
    other = get_r all, m
    dx = ld_i other, 0
    dx = fsub x, dx
    dy = ld_i other, 1
    dy = fsub y, dy
    dz = ld_i other, 2
    dz = fsub z, dz
    square = fmul dx, dx
    part = fmul dy, dy
    square = fadd square, part
    part = fmul dz, dz
    square = fadd square, part
    distance = fsqrt square
    part = fmul square, distance
    pull = fdiv dt, part
    ; This body is pulled to the other one, and the other one to this.
    other_mass = ld_i other, 6
    other_mass = fmul other_mass, pull
    part = fmul dx, other_mass
    vx = fsub vx, part
    part = fmul dy, other_mass
    vy = fsub vy, part
    part = fmul dz, other_mass
    vz = fsub vz, part
    pull = fmul mass, pull
    v = ld_i other, 3
    part = fmul dx, pull
    v = fadd v, part
    st_i other, 3, v
    v = ld_i other, 4
    part = fmul dy, pull
    v = fadd v, part
    st_i other, 4, v
    v = ld_i other, 5
    part = fmul dz, pull
    v = fadd v, part
    st_i other, 5, v
    m = add m, 1
    jlt m, count, attract
move:
    st_i body, 3, vx
    st_i body, 4, vy
    st_i body, 5, vz
    part = fmul dt, vx
    x = fadd x, part
    st_i body, 0, x
    part = fmul dt, vy
    y = fadd y, part
    st_i body, 1, y
    part = fmul dt, vz
    z = fadd z, part
    st_i body, 2, z
    jlt n, count, next
    ret
}

fun show_energy(all: r) {
    value = call energy(all)
    call print_float(value)
    call print("\n")
    ret
}

fun main() {
    steps = 1000
    count = call arg_count()
    jeq count, 0, start
    text = call arg(0)
    steps, ok = int_of_str text
start:
    all = call read_bodies()
    call offset_momentum(all)
    call show_energy(all)
    jle steps, 0, done
next:
    call advance(all, 0.01)
    steps = sub steps, 1
    jgt steps, 0, next
done:
    call show_energy(all)
    ret
}
