-- 10^8 tail calls between two functions.

local even, odd

function even(n)
  if n == 0 then return 1 end
  return odd(n - 1)
end

function odd(n)
  if n == 0 then return 0 end
  return even(n - 1)
end

print(string.format("%d", even(100000000)))
