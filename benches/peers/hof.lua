-- `map` and `fold` with closures over a list of 1,000 elements, 15,000 times.

local function map(f, xs)
  if not xs then return false end
  local x = f(xs[1])
  return { x, map(f, xs[2]) }
end

local function fold(f, total, xs)
  while xs do
    total = f(total, xs[1])
    xs = xs[2]
  end
  return total
end

local xs = false
for n = 1000, 1, -1 do xs = { n, xs } end
local function plus(x, y) return x + y end
local sum = 0
for n = 1, 15000 do
  local ys = map(function(x) return x + n end, xs)
  sum = sum + fold(plus, 0, ys)
end
print(string.format("%d", sum))
