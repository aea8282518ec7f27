-- What refunds and changes of policies count with: rare, so only some scripts contain this.
--
-- algorithms[tag].refund(policy, cost, state, taken_us, bounds)       -> next_state
-- algorithms[tag].replenish(policy, cost, state, bounds)              -> next_state; left out: a refund of what was
--                                                                        taken at the end of time
-- algorithms[tag].inherit(policy, previous, state, how, bounds)       -> next_state; nil: as new
-- All may answer nil and a moment instead: bounds around it are missing.
local KEEP, PROPORTIONAL, RESET = 0, 1, 2

-- Cost in use under a maximum of `max`, of `used` under `previous_max`.
local function carry(how, used, previous_max, max)
  if how == RESET then return 0 end
  if how == KEEP then return math.min(used, max) end
  local scaled, rest = mul_div(used, max, math.max(previous_max, 1))
  return math.min(rest > 0 and scaled + 1 or scaled, max)
end

-- Whole numbers of any size: digits to the base 2^24, the lowest first.
local BASE = 16777216

local function wide_of(number)
  local digits = {}
  while number > 0 do
    digits[#digits + 1] = number % BASE
    number = math.floor(number / BASE)
  end
  return digits
end

-- a * b + c for a wide `a` and two numbers below 2^53.
local function wide_mul_add(a, b, c)
  local digits, b_digits, carried = wide_of(c), wide_of(b), 0
  for i = 1, #a do
    carried = 0
    for j = 1, #b_digits do
      local at = i + j - 1
      local sum = (digits[at] or 0) + a[i] * b_digits[j] + carried
      digits[at] = sum % BASE
      carried = (sum - digits[at]) / BASE
    end
    local at = i + #b_digits
    while carried > 0 do
      for fill = #digits + 1, at - 1 do digits[fill] = 0 end
      local sum = (digits[at] or 0) + carried
      digits[at] = sum % BASE
      carried = (sum - digits[at]) / BASE
      at = at + 1
    end
  end
  return digits
end

-- The quotient of a wide `a` by a number from 1 to 2^53, wide, and the rest.
local function wide_div(a, c)
  local quotient, rest = {}, 0
  for i = #a, 1, -1 do
    local digit, bit = 0, BASE / 2
    while bit >= 1 do
      local one = a[i] % (bit * 2) >= bit and 1 or 0
      digit = digit * 2
      -- 2 * rest + one may not fit, so it is compared with c by halves.
      if rest >= c - rest - one then
        digit, rest = digit + 1, rest - (c - rest) + one
      else
        rest = rest * 2 + one
      end
      bit = bit / 2
    end
    quotient[i] = digit
  end
  return quotient, rest
end

local function wide_div_up(a, c)
  local quotient, rest = wide_div(a, c)
  return rest > 0 and wide_mul_add(quotient, 1, 1) or quotient
end

-- As a number; rounded above 2^53.
local function wide_number(a)
  local number = 0
  for i = #a, 1, -1 do number = number * BASE + a[i] end
  return number
end
