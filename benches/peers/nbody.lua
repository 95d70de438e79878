-- Five bodies under gravity, 500,000 steps: arithmetic of doubles in records.

local function body(x, y, z, vx, vy, vz, mass)
  return { x = x, y = y, z = z, vx = vx, vy = vy, vz = vz, mass = mass }
end

local all = {
  body(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 39.47841760435743),
  body(4.84143144246472090e+00, -1.16032004402742839e+00, -1.03622044471123109e-01,
    0.606326392995832, 2.81198684491626, -0.02521836165988763, 0.03769367487038949),
  body(8.34336671824457987e+00, 4.12479856412430479e+00, -4.03523417114321381e-01,
    -1.0107743461787924, 1.8256623712304119, 0.008415761376584154, 0.011286326131968767),
  body(1.28943695621391310e+01, -1.51111514016986312e+01, -2.23307578892655734e-01,
    1.0827910064415354, 0.8687130181696082, -0.010832637401363636, 0.0017237240570597112),
  body(1.53796971148509165e+01, -2.59193146099879641e+01, 1.79258772950371181e-01,
    0.979090732243898, 0.5946989986476762, -0.034755955504078104, 0.0020336868699246304),
}

local sqrt = math.sqrt

local function offset_momentum(all)
  local px, py, pz = 0.0, 0.0, 0.0
  for n = 1, #all do
    local b = all[n]
    px = px - b.vx * b.mass
    py = py - b.vy * b.mass
    pz = pz - b.vz * b.mass
  end
  local sun = all[1]
  sun.vx = px / sun.mass
  sun.vy = py / sun.mass
  sun.vz = pz / sun.mass
end

local function energy(all)
  local total = 0.0
  for n = 1, #all do
    local b = all[n]
    total = total + 0.5 * b.mass * (b.vx * b.vx + b.vy * b.vy + b.vz * b.vz)
    for m = n + 1, #all do
      local o = all[m]
      local dx, dy, dz = b.x - o.x, b.y - o.y, b.z - o.z
      total = total - b.mass * o.mass / sqrt(dx * dx + dy * dy + dz * dz)
    end
  end
  return total
end

local function advance(all, count, dt)
  for n = 1, count do
    local b = all[n]
    local x, y, z = b.x, b.y, b.z
    local vx, vy, vz = b.vx, b.vy, b.vz
    local mass = b.mass
    for m = n + 1, count do
      local o = all[m]
      local dx, dy, dz = x - o.x, y - o.y, z - o.z
      local square = dx * dx + dy * dy + dz * dz
      local pull = dt / (square * sqrt(square))
      local other_mass = o.mass * pull
      vx = vx - dx * other_mass
      vy = vy - dy * other_mass
      vz = vz - dz * other_mass
      pull = mass * pull
      o.vx = o.vx + dx * pull
      o.vy = o.vy + dy * pull
      o.vz = o.vz + dz * pull
    end
    b.vx, b.vy, b.vz = vx, vy, vz
    b.x = x + dt * vx
    b.y = y + dt * vy
    b.z = z + dt * vz
  end
end

offset_momentum(all)
for _ = 1, 500000 do advance(all, #all, 0.01) end
-- Nine digits behind the point, as an integer.
print(string.format("%d", math.ceil(energy(all) * 1e9)))
