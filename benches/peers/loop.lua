-- A counting loop of 10^8 rounds around an `if` that no branch prediction can learn: whether
-- doubling modulo a prime wraps around.

local function loop(count, prime)
  local x = 1
  for _ = 1, count do
    x = x + x
    if x >= prime then x = x - prime end
  end
  return x
end

print(string.format("%d", loop(100000000, 1000000007)))
