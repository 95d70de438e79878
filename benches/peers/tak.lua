-- tak(24, 16, 8), 20 times: calls with three arguments, and a tail call.

local function tak(x, y, z)
  if y >= x then return z end
  return tak(tak(x - 1, y, z), tak(y - 1, z, x), tak(z - 1, x, y))
end

local sum = 0
for _ = 1, 20 do sum = sum + tak(24, 16, 8) end
print(string.format("%d", sum))
