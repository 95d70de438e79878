-- The tightest loop: s += j; j++, 10^8 times.

local function loop(limit)
  local sum = 0
  for n = 1, limit do
    sum = sum + n
  end
  return sum
end

print(string.format("%d", loop(100000000)))
