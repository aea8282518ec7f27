-- What every algorithm counts with. A Lua number is a double: whole numbers are exact below 2^53, and nothing that
-- leaves this range is ever computed.
--
-- algorithms[tag].check(policy, cost, state, now_us, holder, bounds)
--     -> passes, remaining, retry_after, reset_after, delay, next_state, at
--   policy   bytes: their count, the tag, the quota as a double, and what the file of the algorithm says
--   state    bytes; nil: a key that was never seen. next_state is nil where nothing changes
--   at       the key's own time: now_us, but never before the last admission
--   spans are microseconds; retry_after is NEVER where the cost can never pass
local pack, read, sub, byte = struct.pack, struct.unpack, string.sub, string.byte
local BEYOND, LATEST_US, NEVER = 9007199254740992, 9007199254740991, -1
local algorithms, inherited = {}, nil

-- floor(a * b / c), and the rest; a, b and c are below 2^53, c is at least 1. A quotient above 2^53 is rounded.
local function mul_div(a, b, c)
  local product = a * b
  if product < BEYOND then
    local rest = product % c
    return (product - rest) / c, rest
  end
  -- Long division: a's bits from the highest, keeping (a so far) * b = quotient * c + rest.
  local b_rest = b % c
  local b_quotient = (b - b_rest) / c
  local quotient, rest, bit = 0, 0, BEYOND / 2
  while bit >= 1 do
    quotient = quotient * 2
    -- 2 * rest may not fit, so it is compared with c by halves.
    if rest >= c - rest then
      quotient, rest = quotient + 1, rest - (c - rest)
    else
      rest = rest * 2
    end
    if a >= bit then
      a, quotient = a - bit, quotient + b_quotient
      if rest >= c - b_rest then
        quotient, rest = quotient + 1, rest - (c - b_rest)
      else
        rest = rest + b_rest
      end
    end
    bit = bit / 2
  end
  return quotient, rest
end
