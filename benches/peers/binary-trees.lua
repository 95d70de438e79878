-- Binary trees of depth up to 16: allocation and collection.

local function grow(depth)
  if depth == 0 then return { false, false } end
  depth = depth - 1
  local left = grow(depth)
  return { left, grow(depth) }
end

local function size(tree)
  local left = tree[1]
  if not left then return 1 end
  return size(left) + size(tree[2]) + 1
end

local sum = size(grow(17))
local long_lived = grow(16)
for depth = 4, 16, 2 do
  for _ = 1, 2 ^ (20 - depth) do sum = sum + size(grow(depth)) end
end
sum = sum + size(long_lived)
print(string.format("%d", sum))
