-- The primes below 2 * 10^6, five times: array reads, array writes and loops.

local function sieve(limit)
  local is_composite = {}
  for n = 0, limit - 1 do is_composite[n] = false end
  local count = 0
  for n = 2, limit - 1 do
    if not is_composite[n] then
      count = count + 1
      for multiple = n + n, limit - 1, n do is_composite[multiple] = true end
    end
  end
  return count
end

local sum = 0
for _ = 1, 5 do sum = sum + sieve(2000000) end
print(string.format("%d", sum))
